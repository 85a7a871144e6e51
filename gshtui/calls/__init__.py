"""The shared rooms.

`call_service.py` is what commands ask, `call_delivery.py` puts what is said to agents by a `CallPost`
(`fleet/mail/call_post.py`), `call_feed.py` publishes what all processes say, `call_letter.py` is what an agent is
sent, `answer_drafts.py` carries an answer to other processes while it is said, `call_summary.py` what it is told of a
long absence, `store/tables/call_table.py` keeps it all; `hub/parts/fleet_part.py` starts the agents of the
settings, `hub/call_contexts.py` opens the conversation that an agent has in the call of a prompt
(`InboxPrompt.call`).
"""
