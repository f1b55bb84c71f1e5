import type { Command } from 'commander';
import { type EmailAddress, parseEmailAddress } from '#kernel';
import { type EnvironmentOptions, withEnvironmentOptions } from './environment-options.js';
import { UsageError } from './failures.js';

/** The options that say of whom a command speaks. */
export interface SubscriberOptions extends EnvironmentOptions {
  readonly email: string;
}

export function withSubscriberOptions(command: Command): Command {
  return withEnvironmentOptions(command).requiredOption('--email <email>', 'the address of the person');
}

/** The address that was named. Throws a `UsageError` that says what is wrong with it. */
export function addressOf({ email }: SubscriberOptions): EmailAddress {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new UsageError(`--email ${parsed.fault}`);
  return parsed.address;
}
