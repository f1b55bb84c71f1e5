import { DomainValidationError } from '#kernel';
import { kindRules } from './kinds/kinds.js';
import type { RelaySettings } from './relay.js';
import { RELAY_STREAMS, type RelayKind, type RelayOptions } from './relay-terms.js';

/** What a client says of a new relay. */
export type WantedRelay = { readonly kind: RelayKind } & Pick<RelaySettings, 'name'> & Partial<RelaySettings>;

const IMPLICIT_TLS_PORT = 465;
const CONNECTIONS = 5;

/** The settings of a new relay: what was left out is what its kind says. Throws DomainValidationError. */
export function settingsOf({ kind, ...wanted }: WantedRelay): RelaySettings {
  const options = wanted.options ?? {};
  const faults = optionFaults(kind, options);
  const known = kindRules(kind).endpoint(options);
  const host = wanted.host ?? known?.host;
  const port = wanted.port ?? known?.port;
  if (host === undefined) faults['host'] = 'is required';
  if (port === undefined) faults['port'] = 'is required';
  if (host === undefined || port === undefined || Object.keys(faults).length > 0)
    throw new DomainValidationError(faults);
  return {
    name: wanted.name,
    host,
    port,
    tls: wanted.tls ?? tlsOf(port),
    username: wanted.username ?? null,
    options,
    streams: wanted.streams ?? [...RELAY_STREAMS],
    priority: wanted.priority ?? 1,
    weight: wanted.weight ?? 1,
    connections: wanted.connections ?? CONNECTIONS,
    ratePerSecond: wanted.ratePerSecond ?? null,
    signing: wanted.signing ?? 'OWN',
  };
}

/** By path, the options that the kind does not take. */
export function optionFaults(kind: RelayKind, options: RelayOptions): Record<string, string> {
  const { options: taken, name } = kindRules(kind);
  const others = Object.keys(options).filter((option) => !taken.some((known) => known === option));
  return Object.fromEntries(others.map((option) => [`options.${option}`, `is no option of ${name}`]));
}

const tlsOf = (port: number) => (port === IMPLICIT_TLS_PORT ? 'IMPLICIT' : 'REQUIRED');
