import { isDeepStrictEqual } from 'node:util';
import type { ProjectScope } from '#kernel';
import type { RelayKind } from './kinds/kinds.js';
import type { RelayOptions, RelaySigning, RelayStatus, RelayStream, RelayTls } from './relay-terms.js';

const SETTINGS = [
  'name',
  'host',
  'port',
  'tls',
  'username',
  'options',
  'streams',
  'priority',
  'weight',
  'connections',
  'ratePerSecond',
  'signing',
] as const;
/** With these the next hop is another one: what was learnt of the last one is forgotten. */
const OF_THE_NEXT_HOP: ReadonlySet<string> = new Set(['host', 'port', 'tls', 'username', 'options']);

/** What its owner decides. */
export type RelaySettings = Readonly<Pick<Relay, (typeof SETTINGS)[number]>>;

/** What changes; a field that is left out stays. The secrets are sealed. */
export type RelayPatch = Partial<
  RelaySettings & {
    readonly status: 'ACTIVE' | 'PAUSED';
    readonly passwordBox: string | null;
    readonly feedbackKeyBox: string | null;
  }
>;

type Owner = Pick<ProjectScope, 'environmentId' | 'projectId'>;

/** A way out for a project's live mail. */
export class Relay {
  readonly id: string;
  readonly environmentId: number;
  readonly projectId: number;
  readonly relayKey: string;
  readonly kind: RelayKind;
  name!: string;
  host!: string;
  port!: number;
  tls!: RelayTls;
  username!: string | null;
  passwordBox: string | null = null;
  options!: RelayOptions;
  streams!: RelayStream[];
  priority!: number;
  weight!: number;
  connections!: number;
  ratePerSecond!: number | null;
  signing!: RelaySigning;
  status: RelayStatus = 'ACTIVE';
  /** In a row. */
  failures = 0;
  /** When one mail finds out whether a FAILING relay works again. */
  retryAt: Date | null = null;
  lastError: string | null = null;
  lastUsedAt: Date | null = null;
  /** In the token of its feedback address. */
  feedbackId: string;
  feedbackKeyBox: string | null = null;
  lastFeedbackAt: Date | null = null;
  readonly createdAt: Date;
  updatedAt: Date;

  constructor(
    { id, relayKey, kind, feedbackId }: Pick<Relay, 'id' | 'relayKey' | 'kind' | 'feedbackId'>,
    owner: Owner,
    settings: RelaySettings,
    now: Date,
  ) {
    this.id = id;
    this.environmentId = owner.environmentId;
    this.projectId = owner.projectId;
    this.relayKey = relayKey;
    this.kind = kind;
    this.feedbackId = feedbackId;
    this.createdAt = now;
    this.updatedAt = now;
    Object.assign(this, settings);
  }

  change({ status, passwordBox, feedbackKeyBox, ...settings }: RelayPatch, now: Date): void {
    const changed = SETTINGS.filter(
      (field) => settings[field] !== undefined && !isDeepStrictEqual(settings[field], this[field]),
    );
    Object.assign(this, Object.fromEntries(changed.map((field) => [field, settings[field]])));
    if (passwordBox !== undefined) this.passwordBox = passwordBox;
    if (feedbackKeyBox !== undefined) this.feedbackKeyBox = feedbackKeyBox;
    const isAnother = passwordBox !== undefined || changed.some((field) => OF_THE_NEXT_HOP.has(field));
    if (status === 'PAUSED') settle(this, 'PAUSED');
    else if (status === 'ACTIVE' || (isAnother && this.status === 'FAILING')) settle(this, 'ACTIVE');
    this.updatedAt = now;
  }

  /** Makes the feedback address that it had none. */
  rotateFeedback(feedbackId: string, now: Date): void {
    this.feedbackId = feedbackId;
    this.updatedAt = now;
  }
}

/** What was learnt of it until now is forgotten. */
function settle(relay: Relay, status: 'ACTIVE' | 'PAUSED'): void {
  relay.status = status;
  relay.failures = 0;
  relay.retryAt = null;
  relay.lastError = null;
}
