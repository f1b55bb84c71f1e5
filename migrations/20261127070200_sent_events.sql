-- What email.delivered meant is email.sent: who listens to the one goes on to hear of it.
update webhooks.endpoints set event_types = event_types || array['email.sent']
where 'email.delivered' = any(event_types) and not 'email.sent' = any(event_types);
