import type { DomainControlService, SendingDomainsQuery } from '#deliverability';
import { NotFoundError, type ProjectScope } from '#kernel';
import type { CliContext } from './cli-context.js';
import { type EnvironmentOptions, scopeOf } from './environment-options.js';
import { OperatorError } from './failures.js';

/** The services of a command about one sending domain. */
export interface DomainServices {
  readonly scope: ProjectScope;
  readonly domains: SendingDomainsQuery;
  readonly control: DomainControlService;
}

/** Runs `work` for the environment in the options. Throws an `OperatorError` when it has no sending domain. */
export async function withDomain<T>(
  cli: CliContext,
  options: EnvironmentOptions,
  work: (services: DomainServices) => Promise<T>,
): Promise<T> {
  const [{ withServices }, deliverability] = await Promise.all([
    import('./operator-services.js'),
    import('#deliverability'),
  ]);
  const { DeliverabilityModule, DomainControlService, SendingDomainsQuery } = deliverability;
  return withServices(
    cli.env,
    async ({ get, projectList }) => {
      const scope = await scopeOf(options, projectList);
      return work({ scope, domains: get(SendingDomainsQuery), control: get(DomainControlService) });
    },
    [DeliverabilityModule],
  ).catch(sayUnknown);
}

function sayUnknown(error: unknown): never {
  if (!(error instanceof NotFoundError)) throw error;
  throw new OperatorError('unknown-domain', 'This environment has no sending domain.');
}
