/** The host by which the world reaches the api, without port; an address stands without brackets. */
export function publicHostOf({ PUBLIC_URL }: { readonly PUBLIC_URL: string }): string {
  return new URL(PUBLIC_URL).hostname.replace(/^\[(.*)\]$/, '$1');
}
