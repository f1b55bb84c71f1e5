/** Who did it: a person, a proxy that hides its reader, or a program that looks at mail before people do. */
export type Classification = 'human' | 'proxy' | 'scanner';

/** What kind of program it was; all that is kept of a user agent. */
export const AGENT_KINDS = [
  'apple',
  'android',
  'outlook',
  'desktop',
  'proxy',
  'scanner',
  'simulator',
  'other',
] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];

/** An open or a click, as it came. */
export interface TrackedEvent {
  readonly environmentId: number;
  /** Null for an automation's mail: it has no statistics, but rules ask for its events. */
  readonly campaignId: string | null;
  /** The partition of the delivery, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly deliveryId: string;
  readonly type: 'OPENED' | 'CLICKED';
  /** Which of the mail's links; null for opens. */
  readonly linkNumber: number | null;
  /** What the link leads to, kept where no campaign's link set tells: with an automation's clicks. */
  readonly url?: string | null;
  readonly at: Date;
  /** What the request alone tells; null when the delivery has to be asked. */
  readonly known: Classification | null;
  readonly agent: AgentKind;
}
