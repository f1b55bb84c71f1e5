/** What a failed check takes from the score of 100. A critical one refuses the campaign whatever is left. */
export const CRITICAL_WEIGHTS = {
  topic: 40,
  recipients: 40,
  'sender-domain-verified': 40,
  'subscription-active': 40,
  'email-quota': 40,
  'content-empty': 40,
  'merge-tags': 30,
  'unsubscribe-link': 40,
  'postal-address': 40,
  links: 20,
  'text-contrast': 40,
} as const;

/** They tell, and never fail. */
export const INFORMATION_WEIGHTS = { 'destination-limits': 0, 'relay-feedback': 0 } as const;

/** Of the checks of the content. */
export const CONTENT_WEIGHTS = {
  'subject-length': 5,
  'preview-text': 3,
  'spam-words': 10,
  'image-text-ratio': 5,
  'plain-text': 5,
  'html-size': 10,
  'removed-content': 5,
  'alt-text': 3,
  'link-domains': 10,
  personalisation: 2,
} as const;

export const WARNING_WEIGHTS = {
  ...CONTENT_WEIGHTS,
  'domain-warming': 10,
  'dmarc-policy': 5,
  'sender-replies': 5,
  relays: 10,
} as const;
