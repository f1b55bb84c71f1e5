import { defineEvent } from '#kernel';

/** `send` was accepted, or its time has come; the worker is to write down the recipients and send to each. */
export const CampaignQueued = defineEvent<{ campaignId: string }>('messaging.campaign_queued.v1');

/** It was cancelled, or failed, while the worker had it; the worker is to end its open deliveries. */
export const CampaignStopped = defineEvent<{ campaignId: string }>('messaging.campaign_stopped.v1');

/** `retry-failed` was accepted; the worker is to put the deliveries back that ended in a temporary failure. */
export const CampaignRetried = defineEvent<{ campaignId: string }>('messaging.campaign_retried.v1');
