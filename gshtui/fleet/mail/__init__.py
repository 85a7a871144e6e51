"""Messages between agents: kept in the record and delivered at the next pause.

`mail_service.py` is the door, `outbox.py` accepts a message, `delivery.py` delivers it by one of `transports.py`, and
`unsent_prompts.py` asks about what a program does not take.
"""
