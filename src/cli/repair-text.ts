import type { RepairResult } from '#store/repair/repair'

/** The limit of lines of each list. `--json` prints all lines. */
const linesShown = 40

/** The text for `repair`: the result, the missing rows, and the next steps. */
export function repairText(folder: string, { damage, rows, leftOut, missing, damagedFolder }: RepairResult): string {
  if (damagedFolder === undefined) return `${folder}: the database is intact; nothing was done\n`
  const missingRows = [
    ...missing.map(({ tenant, from, upTo }) => `tenant ${tenant}: events ${from} to ${upTo}`),
    ...leftOut.map((row) => `${row}: it can't be read, or the declaration that it refers to is missing`),
  ]
  return [
    `${folder} contains a new database of ${rows} rows. The damaged database is in ${damagedFolder}, unchanged.`,
    '',
    'Damaged:',
    ...indented(damage),
    '',
    'Known to be missing:',
    ...indented(missingRows),
    '',
    'The rows in the damaged blocks are unknown. Any row may be missing, outdated, or present again after its deletion, also',
    'users, roles, API keys and sessions. Check these before users sign in. Until the damaged database is deleted,',
    '`npm run doctor` repeats the list. A backup may be the better choice.',
    '',
    'A new epoch begins: all clients read the full state, and devices repeat unacknowledged reports.',
    '',
  ].join('\n')
}

function indented(lines: readonly string[]): readonly string[] {
  const more = lines.length - linesShown
  const first = (lines.length > 0 ? lines : ['nothing']).slice(0, linesShown).map((line) => `  ${line}`)
  return more > 0 ? [...first, `  and ${more} more: see --json`] : first
}
