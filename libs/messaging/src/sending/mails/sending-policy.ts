import type { DkimIdentity, DomainWarmUp } from '#deliverability';

/** How mail of a sender may leave now. */
export type SendingPolicy =
  | {
      readonly kind: 'open';
      /** Null where the relay signs, or nobody does. */
      readonly signing: DkimIdentity | null;
      /** Where bounces go (VERP); null: to the sender's address. */
      readonly returnPathHost: string | null;
      /** The day of its warm-up that a new domain is on. */
      readonly warmUp: DomainWarmUp | null;
    }
  /** The sender's domain is not verified, or must not send now. */
  | { readonly kind: 'closed' }
  /** It cannot be signed as it must, or its content lost a custom field. */
  | { readonly kind: 'broken'; readonly fault: string };

/** Null where bounces go to the sender's address, or nothing leaves. */
export function returnPathHostOf(policy: SendingPolicy): string | null {
  return policy.kind === 'open' ? policy.returnPathHost : null;
}
