import { defineEvent } from '#kernel';

/** `send` was accepted; the worker is to write down the recipients and send to each. */
export const CampaignQueued = defineEvent<{ campaignId: string }>('messaging.campaign_queued.v1');
