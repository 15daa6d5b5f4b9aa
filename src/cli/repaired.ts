import type { RepairResult } from '#store/repair/repair'

/** `--json` has all of them. */
const linesShown = 40

/** For people: the result, the rows that are missing, and the next steps. */
export function repairedText(folder: string, { damage, rows, leftOut, missing, keptIn }: RepairResult): string {
  if (keptIn === undefined) return `${folder}: the database is whole; nothing was done\n`
  const lost = [
    ...missing.map(({ tenant, from, upTo }) => `tenant ${tenant}: events ${from} to ${upTo}`),
    ...leftOut.map((row) => `${row}: it can't be read, or the declaration that it refers to is missing`),
  ]
  return [
    `${folder} holds a new database of ${rows} rows, made from a copy. The damaged database is in ${keptIn}, unchanged.`,
    '',
    'Damaged:',
    ...shown(damage),
    '',
    'Known to be missing:',
    ...shown(lost),
    '',
    'The rows in the damaged places are unknown. Any row may be missing, may be an earlier version of itself, or may be there',
    'again after its deletion: also users, roles, API keys and sessions. Check these before others can sign in. As long as the',
    'damaged database is there, `npm run doctor` repeats the list. A backup may be the better choice.',
    '',
    'A new epoch begins: all clients read the full state, and devices send again what was not acknowledged.',
    '',
  ].join('\n')
}

function shown(lines: readonly string[]): readonly string[] {
  const more = lines.length - linesShown
  const first = (lines.length > 0 ? lines : ['nothing']).slice(0, linesShown).map((line) => `  ${line}`)
  return more > 0 ? [...first, `  and ${more} more: --json lists them`] : first
}
