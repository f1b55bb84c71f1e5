import { DomainValidationError } from '#kernel';
import { kindRules, type RelayKind } from './kinds/kinds.js';
import type { Relay, RelayPatch, RelaySettings } from './relay.js';
import { RELAY_OPTIONS, RELAY_STREAMS, type RelayOptions, type RelaySigning } from './relay-terms.js';

/** What a client says of a new relay. */
export type WantedRelay = { readonly kind: RelayKind } & Pick<RelaySettings, 'name'> & Partial<RelaySettings>;

/** What is kept sealed and never shown. */
export interface RelaySecrets {
  readonly password?: string | null | undefined;
  /** With which the provider's events are proved. */
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

/** A change with what follows from it: a relay that is where its options say goes where other ones say. Throws DomainValidationError. */
export function patchOf(relay: Relay, patch: RelayPatch, secrets: RelaySecrets): RelayPatch {
  const { kind } = relay;
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

/** By path, the options that the kind does not take, and values that it cannot use. */
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
