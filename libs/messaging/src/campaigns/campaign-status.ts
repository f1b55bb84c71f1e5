export const CAMPAIGN_STATUSES = [
  'DRAFT',
  'SCHEDULED',
  'QUEUED_FOR_SENDING',
  'SENDING',
  'PAUSED',
  'SENT',
  'CANCELLED',
  'FAILED',
  'ARCHIVED',
] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

/** What can be asked of a campaign, with the words for a refusal. */
export const CAMPAIGN_ACTIONS = {
  change: 'cannot be changed',
  delete: 'cannot be deleted',
  schedule: 'cannot be scheduled',
  send: 'cannot be sent',
  cancel: 'cannot be cancelled',
  pause: 'cannot be paused',
  resume: 'cannot be resumed',
  retryFailed: 'cannot be retried',
  test: 'cannot be tested',
  archive: 'cannot be archived',
} as const;
export type CampaignAction = keyof typeof CAMPAIGN_ACTIONS;

const EDITABLE: readonly CampaignStatus[] = ['DRAFT', 'SCHEDULED', 'FAILED'];

/** The states in which each is allowed. */
export const ALLOWED_STATUSES: Readonly<Record<CampaignAction, readonly CampaignStatus[]>> = {
  change: EDITABLE,
  delete: [...EDITABLE, 'CANCELLED'],
  schedule: ['DRAFT'],
  send: EDITABLE,
  cancel: ['SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'],
  pause: ['SENDING'],
  resume: ['PAUSED'],
  retryFailed: ['SENT'],
  test: CAMPAIGN_STATUSES.filter((status) => status !== 'ARCHIVED'),
  archive: ['SENT', 'CANCELLED', 'FAILED'],
};

/** The states in which the worker has it: from here it can fail. */
export const UNDER_WAY: readonly CampaignStatus[] = ['QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'];
