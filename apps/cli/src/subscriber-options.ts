import type { Command } from 'commander';
import { type EmailAddress, parseEmailAddress } from '#kernel';
import { type EnvironmentOptions, withEnvironmentOptions } from './environment-options.js';
import { UsageError } from './failures.js';

/** The options for the subscriber of a command. */
export interface SubscriberOptions extends EnvironmentOptions {
  readonly email: string;
}

export function withSubscriberOptions(command: Command): Command {
  return withEnvironmentOptions(command).requiredOption('--email <email>', 'the address of the person');
}

/** Parses the address in the options. Throws a `UsageError`. */
export function addressOf({ email }: SubscriberOptions): EmailAddress {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new UsageError(`--email ${parsed.fault}`);
  return parsed.address;
}
