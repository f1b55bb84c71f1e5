-- What a receiver answered may repeat whom it was told of: an erasure empties it.
grant update (error) on webhooks.attempts to mailwright_app;
