/** What the operations of each tag are about. */
export const TAGS: Readonly<Record<string, string>> = {
  Project: 'The project and environment that the key opens.',
  Topics: 'What people subscribe to.',
  Subscribers: 'People by their address: one by one, and by the file.',
  Consents: 'Who wants what, and how it was agreed to.',
  'Custom fields': 'What else is to be known of subscribers.',
  Segments: 'Subscribers by a list or by rules.',
  Suppressions: 'Addresses that get no mail.',
  Automations: 'What happens to people after something happened to them.',
  Campaigns: 'Mails to everybody who wants their topics: written, checked, sent.',
  'Campaign reports': 'What came of a campaign.',
  'Test inbox': 'Where the mail of the test environment goes.',
  'Sending domain': 'The domain that live mail comes from, and its DNS records.',
  Relays: 'Where live mail is handed over, and what providers say back.',
  Billing: 'Plan, usage and invoices of the tenant.',
  'AI credits': 'What AI reports are paid with.',
};
