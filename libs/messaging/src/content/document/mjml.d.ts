declare module 'mjml' {
  interface MjmlOptions {
    validationLevel: 'strict' | 'soft' | 'skip';
    keepComments: boolean;
    ignoreIncludes: boolean;
    fonts: Record<string, string>;
  }

  export default function mjml2html(source: string, options: MjmlOptions): Promise<{ html: string }>;
}
