export const AUTOMATION_STATUSES = ['DRAFT', 'ACTIVE', 'PAUSED', 'ARCHIVED'] as const;
export type AutomationStatus = (typeof AUTOMATION_STATUSES)[number];

export const TRIGGER_TYPES = [
  'subscriber_joins_list',
  'segment_entered',
  'segment_left',
  'custom_event',
  'manual',
] as const;
export type TriggerType = (typeof TRIGGER_TYPES)[number];

/** What can be asked of an automation, with the words for a refusal. */
export const AUTOMATION_ACTIONS = {
  activate: 'cannot be activated',
  pause: 'cannot be paused',
  archive: 'cannot be archived',
  changeContent: 'cannot get other content',
  changeTrigger: 'cannot get another trigger',
  delete: 'cannot be deleted',
  enter: 'lets nobody in',
} as const;
export type AutomationAction = keyof typeof AUTOMATION_ACTIONS;

/** In which states each is allowed. */
export const ALLOWED_STATUSES: Readonly<Record<AutomationAction, readonly AutomationStatus[]>> = {
  activate: ['DRAFT', 'PAUSED'],
  pause: ['ACTIVE'],
  archive: ['DRAFT', 'PAUSED'],
  changeContent: ['DRAFT', 'PAUSED'],
  changeTrigger: ['DRAFT', 'PAUSED'],
  delete: ['DRAFT', 'PAUSED', 'ARCHIVED'],
  enter: ['ACTIVE'],
};
