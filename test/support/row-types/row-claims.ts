import { relative } from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../../libs/platform/src/project-root.js';

/** The type of a value as the code claims it: `string`, `Date | null`, `number[]`. */
export type ClaimedKinds = readonly string[];

/** A template `sql<T>` of the sources, with the columns that T claims. */
export interface RowClaim {
  /** `libs/…/file.ts:12`. */
  readonly place: string;
  /** The literal parts of the template. */
  readonly template: readonly string[];
  /** Columns by name; where T is no row, the kinds of the one value. */
  readonly columns: ReadonlyMap<string, ClaimedKinds> | null;
  readonly value: ClaimedKinds;
}

/** All `sql` templates of the programs that claim a type, by TypeScript's own reading of it. */
export function rowClaims(): RowClaim[] {
  const root = projectRoot();
  const { config } = ts.readConfigFile(`${root}/tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    readonly config: object;
  };
  const { options, fileNames } = ts.parseJsonConfigFileContent(
    { ...config, include: ['apps', 'libs'] },
    ts.sys,
    root,
  );
  const isProgram = (file: string) => !/\.(spec|fixture)\.ts$/.test(file);
  const program = ts.createProgram(fileNames.filter(isProgram), options);
  const checker = program.getTypeChecker();
  const claims: RowClaim[] = [];
  const visit = (file: ts.SourceFile, node: ts.Node): void => {
    if (ts.isTaggedTemplateExpression(node) && node.tag.getText(file) === 'sql') {
      const claim = claimOf(checker, node);
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      if (claim !== undefined)
        claims.push({
          place: `${relative(root, file.fileName)}:${line + 1}`,
          template: literalsOf(node.template),
          ...claim,
        });
    }
    ts.forEachChild(node, (child) => visit(file, child));
  };
  for (const file of program.getSourceFiles())
    if (!file.isDeclarationFile && !file.fileName.includes('/node_modules/')) visit(file, file);
  return claims;
}

function literalsOf(template: ts.TemplateLiteral): string[] {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return [template.text];
  return [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)];
}

function claimOf(
  checker: ts.TypeChecker,
  node: ts.TaggedTemplateExpression,
): Pick<RowClaim, 'columns' | 'value'> | undefined {
  const [claimed] = checker.getTypeArguments(checker.getTypeAtLocation(node) as ts.TypeReference);
  if (claimed === undefined) return undefined;
  const value = kindsOf(checker, claimed);
  if (value.includes('unknown')) return undefined;
  if (!['object', 'generic'].includes(value.join())) return { columns: null, value };
  const columns = checker
    .getPropertiesOfType(checker.getApparentType(claimed))
    .map((property) => [property.name, kindsOf(checker, checker.getTypeOfSymbol(property))] as const);
  return { columns: new Map(columns), value };
}

const { TypeFlags } = ts;
const BY_FLAG: readonly (readonly [ts.TypeFlags, string])[] = [
  [TypeFlags.Null, 'null'],
  [TypeFlags.Undefined, 'undefined'],
  [TypeFlags.StringLike, 'string'],
  [TypeFlags.NumberLike, 'number'],
  [TypeFlags.BooleanLike, 'boolean'],
  [TypeFlags.TypeParameter, 'generic'],
  [TypeFlags.Any | TypeFlags.Unknown, 'unknown'],
];

function kindsOf(checker: ts.TypeChecker, type: ts.Type): ClaimedKinds {
  if (type.isUnion()) return [...new Set(type.types.flatMap((one) => kindsOf(checker, one)))].sort();
  const known = BY_FLAG.find(([flag]) => (type.flags & flag) !== 0);
  if (known !== undefined) return [known[1]];
  if (type.isIntersection()) {
    // Branded is as good as plain: `string & { … }`.
    const kinds = new Set(
      type.types.flatMap((one) => kindsOf(checker, one)).filter((kind) => kind !== 'object'),
    );
    return [kinds.size === 0 ? 'object' : [...kinds].join(' & ')];
  }
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(type as ts.TypeReference);
    return element === undefined ? ['object'] : [`${kindsOf(checker, element).join(' | ')}[]`];
  }
  const name = type.symbol?.name;
  return [name === 'Date' || name === 'Buffer' ? name : 'object'];
}
