import { isDeepStrictEqual } from 'node:util';
import { DomainValidationError, type ProjectScope } from '#kernel';
import {
  RELAY_OPTIONS,
  RELAY_STREAMS,
  type RelayOptions,
  type RelaySigning,
  type RelayStatus,
  type RelayStream,
  type RelayTls,
} from './kinds/kind.js';
import { kindRules, type RelayKind } from './kinds/kinds.js';

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
/** A change of these makes it another next hop, so that its health is reset. */
const OF_THE_NEXT_HOP: ReadonlySet<string> = new Set(['host', 'port', 'tls', 'username', 'options']);

/** The settings that its owner decides. */
export type RelaySettings = Readonly<Pick<Relay, (typeof SETTINGS)[number]>>;

/** Changed fields; others stay. The secrets are sealed. */
export type RelayPatch = Partial<
  RelaySettings & {
    readonly status: 'ACTIVE' | 'PAUSED';
    readonly passwordBox: string | null;
    readonly feedbackKeyBox: string | null;
  }
>;

type OptionsPatch = { readonly [Option in keyof RelayOptions]?: string | null | undefined };
/** A change as a client gives it. */
export type GivenPatch = Omit<RelayPatch, 'options'> & { readonly options?: OptionsPatch | undefined };

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
    const before = this.status;
    const changed = SETTINGS.filter(
      (field) => settings[field] !== undefined && !isDeepStrictEqual(settings[field], this[field]),
    );
    Object.assign(this, Object.fromEntries(changed.map((field) => [field, settings[field]])));
    if (passwordBox !== undefined) this.passwordBox = passwordBox;
    if (feedbackKeyBox !== undefined) this.feedbackKeyBox = feedbackKeyBox;
    const isAnother = passwordBox !== undefined || changed.some((field) => OF_THE_NEXT_HOP.has(field));
    if (status === 'PAUSED') settle(this, 'PAUSED');
    else if (status === 'ACTIVE' || (isAnother && this.status === 'FAILING')) settle(this, 'ACTIVE');
    if (isAnother || changed.length > 0 || feedbackKeyBox !== undefined || this.status !== before)
      this.updatedAt = now;
  }

  /** Makes the feedback address that it had none. */
  rotateFeedback(feedbackId: string, now: Date): void {
    this.feedbackId = feedbackId;
    this.updatedAt = now;
  }
}

/** Resets its health. */
function settle(relay: Relay, status: 'ACTIVE' | 'PAUSED'): void {
  relay.status = status;
  relay.failures = 0;
  relay.retryAt = null;
  relay.lastError = null;
}

/** Context that the sealed secrets of a relay are bound to. */
export function relaySecret({ projectId, environmentId }: Pick<ProjectScope, 'projectId' | 'environmentId'>) {
  return { purpose: 'relay', owner: { projectId, environmentId } };
}

/** A client's settings of a new relay. */
export type WantedRelay = { readonly kind: RelayKind } & Pick<RelaySettings, 'name'> & Partial<RelaySettings>;

/** Secrets, kept sealed and never shown. */
export interface RelaySecrets {
  readonly password?: string | null | undefined;
  /** Proves the provider's events. */
  readonly feedbackKey?: string | null | undefined;
}

const IMPLICIT_TLS_PORT = 465;
const CONNECTIONS = 5;

/** The settings of a new relay: what was left out is what its kind says. Throws DomainValidationError. */
export function settingsOf({ kind, ...wanted }: WantedRelay, secrets: RelaySecrets): RelaySettings {
  const rules = kindRules(kind);
  const options = wanted.options ?? {};
  const faults = optionFaults(kind, options);
  const known = rules.endpoint(options);
  Object.assign(faults, signingFaults(kind, wanted.signing), keyFaults(kind, secrets));
  const host = wanted.host ?? known?.host;
  const port = wanted.port ?? known?.port;
  if (host === undefined) faults['host'] = 'is required';
  if (port === undefined) faults['port'] = 'is required';
  const { endpointOption: option } = rules;
  if (host === undefined && option !== undefined)
    faults[`options.${option}`] ??= 'is required where host and port are left out';
  if (host === undefined || port === undefined || Object.keys(faults).length > 0)
    throw new DomainValidationError(faults);
  return {
    name: wanted.name,
    host,
    port,
    tls: wanted.tls ?? tlsOf(port),
    username: usernameOf(kind, wanted.username ?? null, secrets.password != null),
    options,
    streams: wanted.streams ?? [...RELAY_STREAMS],
    priority: wanted.priority ?? 1,
    weight: wanted.weight ?? 1,
    connections: wanted.connections ?? CONNECTIONS,
    ratePerSecond: wanted.ratePerSecond ?? null,
    signing: wanted.signing ?? (rules.signs === 'ALWAYS' ? 'RELAY' : 'OWN'),
  };
}

/** A change with what follows from it: other options may lead a relay elsewhere. Throws DomainValidationError. */
export function patchOf(
  relay: Relay,
  { options: changed, ...given }: GivenPatch,
  secrets: RelaySecrets,
): RelayPatch {
  const { kind } = relay;
  const patch: RelayPatch = {
    ...given,
    ...(changed !== undefined && { options: patchedOptions(relay.options, changed) }),
  };
  const faults = optionFaults(kind, patch.options ?? {});
  Object.assign(faults, signingFaults(kind, patch.signing), keyFaults(kind, secrets));
  if (Object.keys(faults).length > 0) throw new DomainValidationError(faults);
  const passwordBox = patch.passwordBox === undefined ? relay.passwordBox : patch.passwordBox;
  const username = patch.username === undefined ? relay.username : patch.username;
  return {
    ...patch,
    ...movedBy(relay, patch),
    username: usernameOf(kind, username, passwordBox !== null),
  };
}

/** Options that are absent stay, null removes one (RFC 7396). */
function patchedOptions(before: RelayOptions, patch: OptionsPatch): RelayOptions {
  const entries = Object.entries({ ...before, ...patch });
  return Object.fromEntries(entries.filter(([, value]) => value != null));
}

function movedBy({ kind, host, options }: Relay, patch: RelayPatch): Pick<RelayPatch, 'host'> {
  if (patch.options === undefined || patch.host !== undefined) return {};
  const rules = kindRules(kind);
  const next = rules.endpoint(patch.options);
  return next !== null && rules.endpoint(options)?.host === host ? { host: next.host } : {};
}

/** Throws DomainValidationError when there is but one of username and password. */
function usernameOf(kind: RelayKind, given: string | null, hasPassword: boolean): string | null {
  const username = given ?? (hasPassword ? (kindRules(kind).username ?? null) : null);
  if ((username === null) !== hasPassword) return username;
  throw new DomainValidationError({
    [hasPassword ? 'username' : 'password']:
      'is required: a relay has both a username and a password, or neither',
  });
}

/** Faults by path: options that the kind does not take, and values that it cannot use. */
function optionFaults(kind: RelayKind, options: RelayOptions): Record<string, string> {
  const { options: taken, name } = kindRules(kind);
  const faults: Record<string, string> = {};
  for (const option of RELAY_OPTIONS) {
    const value = options[option];
    const values = taken[option];
    if (value === undefined) continue;
    if (values === undefined) faults[`options.${option}`] = `is no option of ${name}`;
    else if (values?.pattern.test(value) === false) faults[`options.${option}`] = `must be ${values.inWords}`;
  }
  return faults;
}

function signingFaults(kind: RelayKind, signing: RelaySigning | undefined): Record<string, string> {
  const { signs, name } = kindRules(kind);
  if (signing !== 'OWN' || signs !== 'ALWAYS') return {};
  return { signing: `must be RELAY with ${name}, which lets no signature but its own through` };
}

function keyFaults(kind: RelayKind, { feedbackKey }: RelaySecrets): Record<string, string> {
  const { feedbackKey: form } = kindRules(kind);
  if (feedbackKey == null || form === undefined || form.isUsable(feedbackKey)) return {};
  return { feedbackKey: `must be ${form.inWords}` };
}

const tlsOf = (port: number) => (port === IMPLICIT_TLS_PORT ? 'IMPLICIT' : 'REQUIRED');
