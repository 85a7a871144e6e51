"""The shared rooms.

`call_service.py` is what commands ask, `call_delivery.py` puts what is said to agents by a `CallPost`
(`fleet/mail/call_post.py`), `call_feed.py` publishes what all processes say, `call_letter.py` is what an agent is sent,
also after a long absence, `answer_drafts.py` carries an answer to other processes while it is said,
`store/tables/call_table.py` keeps it all; `hub/parts/fleet_part.py` starts the agents of the settings,
`hub/parts/agents_part.py` opens the conversation that an agent has in the call of a prompt (`InboxPrompt.call`).
"""
