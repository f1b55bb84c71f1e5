import type { ProjectScope } from '#kernel';
import type { WebhookEndpoints, WebhookLog } from '#webhooks';
import type { CliContext } from '../cli-context.js';
import { type EnvironmentOptions, scopeOf } from '../environment-options.js';

/** The services of the webhook commands. */
interface WebhookServices {
  readonly scope: ProjectScope;
  readonly endpoints: WebhookEndpoints;
  readonly log: WebhookLog;
}

/** Runs `work` with the webhook services for the environment in the options. */
export async function withWebhooks<T>(
  cli: CliContext,
  options: EnvironmentOptions,
  work: (services: WebhookServices) => Promise<T>,
): Promise<T> {
  const [{ withServices }, { WebhookEndpoints, WebhookLog, WebhooksModule }] = await Promise.all([
    import('../operator-services.js'),
    import('#webhooks'),
  ]);
  return withServices(
    cli.env,
    async ({ get, projectList }) =>
      work({
        scope: await scopeOf(options, projectList),
        endpoints: get(WebhookEndpoints),
        log: get(WebhookLog),
      }),
    [WebhooksModule],
  );
}
