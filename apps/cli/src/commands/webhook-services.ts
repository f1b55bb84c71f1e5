import type { ProjectScope } from '#kernel';
import type { WebhookEndpointsService, WebhookLogService } from '#webhooks';
import type { CliContext } from '../cli-context.js';
import { type EnvironmentOptions, scopeOf } from '../environment-options.js';

/** The services of the webhook commands. */
interface WebhookServices {
  readonly scope: ProjectScope;
  readonly endpoints: WebhookEndpointsService;
  readonly log: WebhookLogService;
}

/** Runs `work` with the webhook services for the environment in the options. */
export async function withWebhooks<T>(
  cli: CliContext,
  options: EnvironmentOptions,
  work: (services: WebhookServices) => Promise<T>,
): Promise<T> {
  const [{ withServices }, { WebhookEndpointsService, WebhookLogService, WebhooksModule }] =
    await Promise.all([import('../operator-services.js'), import('#webhooks')]);
  return withServices(
    cli.env,
    async ({ get, projectList }) =>
      work({
        scope: await scopeOf(options, projectList),
        endpoints: get(WebhookEndpointsService),
        log: get(WebhookLogService),
      }),
    [WebhooksModule],
  );
}
