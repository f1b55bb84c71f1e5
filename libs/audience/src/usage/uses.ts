import type { ProjectScope, ResourceUser, UserKind } from '#kernel';

/**
 * Who keeps what from being taken away, and while it is in which state. What a draft names may go: `schedule`, `send` and
 * `activate` then refuse it. Automations also count while PAUSED with people inside, whom they take on later.
 */
export const USES = {
  topic: {
    campaign: 'its topics, while scheduled or under way',
    automation: 'its trigger, mails, steps and rules, while active',
    segment: 'its rules, while one of the other two uses it',
  },
  segment: {
    campaign: 'its segments, while scheduled or under way',
    automation: 'its trigger, steps and rules, while active',
    segment: 'its rules, always',
  },
  'custom field': {
    campaign: 'merge tags, in any language, while scheduled or under way',
    automation: "merge tags of its mails and of its webhooks' bodies, and its rules, while active",
    segment: 'its rules, always',
  },
  'default of a custom field': {
    campaign: 'merge tags, in any language, while scheduled or under way',
    automation: "merge tags of its mails and of its webhooks' bodies, while active",
  },
  option: {
    automation: 'its rules, while active',
    segment: 'its rules, always',
  },
  'sending domain': {
    campaign: 'scheduled or under way',
    automation: 'with a mail, while active',
  },
} as const satisfies Record<string, Partial<Record<UserKind, string>>>;

/** Things of one kind that are to be taken away. */
export type UsedThings =
  | { readonly kind: 'topic' | 'segment'; readonly ids: readonly string[] }
  | { readonly kind: 'custom field'; readonly key: string }
  | { readonly kind: 'default of a custom field'; readonly key: string }
  | { readonly kind: 'option'; readonly key: string; readonly values: readonly string[] }
  /** The project's. */
  | { readonly kind: 'sending domain' };

export interface Use extends ResourceUser {
  /** The id, key or option that the user names; empty for the sending domain. */
  readonly of: string;
}

/** Finds the users of one kind, in the states of `USES`; joins the caller's transaction. */
export interface UserSource {
  readonly users: UserKind;
  usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]>;
}
