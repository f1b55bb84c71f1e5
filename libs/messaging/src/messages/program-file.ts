/**
 * Endings of files that run when they are opened: those that Gmail takes from nobody (support.google.com/mail/answer/6590), and
 * those that Outlook blocks beside them or a shell runs.
 */
const PROGRAM_ENDINGS = new Set(
  (
    'ade adp apk appx appxbundle bat cab chm cmd com cpl diagcab diagcfg diagpkg dll dmg ex ex_ exe hta img ins iso isp jar jnlp js ' +
    'jse lib lnk mde mjs msc msi msix msixbundle msp mst nsh pif ps1 scr sct shb sys vb vbe vbs vhd vxd wsc wsf wsh xll ' +
    'app application appref-ms bash command csh deb elf gadget inf msh msh1 msh2 ps1xml ps2 psc1 psm1 reg rpm run scf settingcontent-ms ' +
    'sh theme vhdx ws xbap zsh'
  ).split(' '),
);

/** Endings that are programs even with another one behind them, as in `invoice.exe.pdf`; `acme.com.pdf` is none. */
const UNMISTAKABLE = new Set('bat cmd cpl exe hta jse lnk msi pif ps1 scr vbe vbs wsf'.split(' '));

/** Endings of one compressed file, which has the name before them. */
const COMPRESSED = new Set('gz bz2 xz zst z lz lzma br'.split(' '));

/** The ending by which a file of this name is a program, without its dot; null for other names. */
export function programEnding(filename: string): string | null {
  // Windows leaves blanks and dots at the end out, and takes what follows a colon for a stream of the file.
  const [, ...endings] = filename
    .toLowerCase()
    .replace(/[\s.]+$/u, '')
    .split(/\s*[.:]\s*/u);
  if (COMPRESSED.has(endings.at(-1) ?? '')) endings.pop();
  const last = endings.at(-1) ?? '';
  return PROGRAM_ENDINGS.has(last) ? last : (endings.find((ending) => UNMISTAKABLE.has(ending)) ?? null);
}

/** First bytes of programs, in hexadecimal. */
const SIGNATURES: readonly (readonly [hex: string, program: string])[] = [
  ['4d5a', 'a program for Windows or DOS'],
  ['7f454c46', 'a program for Linux (ELF)'],
  ['feedface', 'a program for macOS (Mach-O)'],
  ['feedfacf', 'a program for macOS (Mach-O)'],
  ['cefaedfe', 'a program for macOS (Mach-O)'],
  ['cffaedfe', 'a program for macOS (Mach-O)'],
  ['cafebabe', 'a program for macOS or Java'],
  ['6465780a', 'a program for Android'],
  ['4d534346', 'a cabinet of programs'],
  ['4c0000000114020000000000c000000000000046', 'a Windows shortcut'],
  ['2321', 'a script (#!)'],
  ['efbbbf2321', 'a script (#!)'],
];
const LONGEST_SIGNATURE = 20;

/**
 * A program in the bytes of a file, in words that complete `is …` or `holds …`; null where there is none. Looks at the first bytes, and at
 * the names in a zip archive's directory, but not into other archives, archives in archives, or the bytes of what they hold.
 */
export function programInside(content: Buffer): string | null {
  const start = content.toString('hex', 0, LONGEST_SIGNATURE);
  const signature = SIGNATURES.find(([hex]) => start.startsWith(hex));
  if (signature !== undefined) return `is ${signature[1]}`;
  const names = zipNames(content);
  if (names === null) return `holds more than ${MOST_NAMES} files, which are not looked through`;
  const program = names.find((name) => programEnding(name) !== null);
  return program === undefined ? null : `holds a program (.${programEnding(program)})`;
}

const MOST_NAMES = 20_000;
const END_OF_DIRECTORY = Buffer.from('PK\x05\x06', 'latin1');
const END_LENGTH = 22;
const LONGEST_COMMENT = 65_535;
const ENTRY = 0x02_01_4b_50;
const ENTRY_LENGTH = 46;

/** Names of a zip archive's directory, without folders (APPNOTE 4.3.12, 4.3.16); none where it is no such archive, null for too many. */
function zipNames(content: Buffer): string[] | null {
  const end = endOfDirectory(content);
  const names: string[] = [];
  if (end < 0) return names;
  // Bytes before the archive shift all of its offsets: the directory ends where its end record begins.
  let at = end - content.readUInt32LE(end + 12);
  while (at >= 0 && at + ENTRY_LENGTH <= end && content.readUInt32LE(at) === ENTRY) {
    if (names.length === MOST_NAMES) return null;
    const nameAt = at + ENTRY_LENGTH;
    const nameEnd = nameAt + content.readUInt16LE(at + 28);
    names.push(content.toString('latin1', nameAt, Math.min(nameEnd, end)).replace(/^.*[/\\]/s, ''));
    at = nameEnd + content.readUInt16LE(at + 30) + content.readUInt16LE(at + 32);
  }
  return names;
}

function endOfDirectory(content: Buffer): number {
  const earliest = Math.max(0, content.length - END_LENGTH - LONGEST_COMMENT);
  for (let at = content.length - END_LENGTH; at >= earliest; at -= 1) {
    at = content.lastIndexOf(END_OF_DIRECTORY, at);
    if (at < earliest) return -1;
    if (at + END_LENGTH + content.readUInt16LE(at + 20) === content.length) return at;
  }
  return -1;
}
