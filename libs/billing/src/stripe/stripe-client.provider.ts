import type { Provider } from '@nestjs/common';
import type { Stripe } from 'stripe';
import { CONFIG, type Config } from '#platform';

/** Injects Stripe's client; null when no key is configured. */
export const STRIPE = Symbol('mailwright.stripe');

const TIMEOUT_MS = 10_000;

export const stripeClient: Provider = {
  provide: STRIPE,
  inject: [CONFIG],
  useFactory: async ({ STRIPE_SECRET_KEY, STRIPE_API_BASE }: Config): Promise<Stripe | null> => {
    if (STRIPE_SECRET_KEY === undefined) return null;
    const base = new URL(STRIPE_API_BASE ?? 'https://api.stripe.com');
    // Loaded on demand: without a key no process spends memory on it.
    const { Stripe: Client } = await import('stripe');
    return new Client(STRIPE_SECRET_KEY, {
      protocol: base.protocol === 'http:' ? 'http' : 'https',
      host: base.hostname,
      ...(base.port !== '' && { port: base.port }),
      timeout: TIMEOUT_MS,
      maxNetworkRetries: 1,
      telemetry: false,
    });
  },
};

/** Stripe's answer, or null when it has no such object. */
export async function unlessGone<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch (error) {
    const { errors } = (await import('stripe')).Stripe;
    if (error instanceof errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
    throw error;
  }
}
