import type { Provider } from '@nestjs/common';
import { Stripe } from 'stripe';
import { type Config, CONFIG } from '#platform';

/** Injects Stripe's client; null when no key is configured. */
export const STRIPE = Symbol('mailwright.stripe');

const TIMEOUT_MS = 10_000;

export const stripeClient: Provider = {
  provide: STRIPE,
  inject: [CONFIG],
  useFactory: ({ STRIPE_SECRET_KEY, STRIPE_API_BASE }: Config): Stripe | null => {
    if (STRIPE_SECRET_KEY === undefined) return null;
    const base = new URL(STRIPE_API_BASE ?? 'https://api.stripe.com');
    return new Stripe(STRIPE_SECRET_KEY, {
      protocol: base.protocol === 'http:' ? 'http' : 'https',
      host: base.hostname,
      ...(base.port !== '' && { port: base.port }),
      timeout: TIMEOUT_MS,
      maxNetworkRetries: 1,
      telemetry: false,
    });
  },
};
