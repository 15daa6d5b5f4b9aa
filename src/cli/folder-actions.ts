import { realWorld } from '#app/world'
import { pipe, pipeBackup, readInput, refusalFrom, type WrittenBackup, writeBackup } from '#cli/backup-file'
import { isServing } from '#cli/connection'
import { renewAdvice } from '#cli/doctor/folder'
import { Misuse, Refusal } from '#cli/exit-codes'
import type { FolderContext } from '#cli/folder'
import { type Terminal, tableOf, timeText } from '#cli/printer'
import { addressOf, configOf, findServer, type NoServer } from '#cli/server-lookup'
import { backupFolder, inspectBackup, inspectFolder } from '#store/backup/folder-backup'
import type { InspectionResult, TenantInspection } from '#store/backup/inspection'
import { restoreBackup } from '#store/backup/restore'
import { type RepairResult, repairFolder } from '#store/repair/repair'

/** Backs up through the running server. If there is none, reads the data folder. */
export async function backup({ terminal, printer, target, options }: FolderContext, file: string): Promise<void> {
  if (file === pipe && terminal.out.isTTY)
    throw new Misuse('a backup cannot be written to a terminal: name a file, or use a pipe')
  const hasHistory = options.history !== false
  const found = await findServer(target, true)
  try {
    const begin = async () =>
      'client' in found ? found.download(`/backup?history=${hasHistory}`) : readFolder(found, terminal, hasHistory)
    const saved =
      file === pipe
        ? await pipeBackup(terminal.out, await begin())
        : await writeBackup(file, terminal.temporaryFiles, begin)
    if (file === pipe) terminal.notes.write(`${contentText(saved)}\n`)
    else printer.done(`${file} contains ${contentText(saved)}. Protect it like a password`, { file, ...saved })
  } catch (error) {
    throw refusalFrom(error, file)
  } finally {
    if ('client' in found) await found.close()
  }
}

async function* readFolder(
  { config, offlineReason }: NoServer,
  { notes }: Terminal,
  hasHistory: boolean,
): AsyncGenerator<Uint8Array> {
  const { dataDirectory: folder } = config
  notes.write(`${offlineReason}: backing up the data folder ${folder} of the stopped server\n`)
  try {
    yield* backupFolder(folder, { now: realWorld.now(), hasHistory }, withoutPauses)
  } catch (error) {
    const refusal = refusalFrom(error, folder)
    throw refusal instanceof Refusal
      ? new Refusal(`${refusal.message}\nIf the server runs on another address, use --url.`)
      : refusal
  }
}

/** This process has no other work. */
const withoutPauses = { isOver: false, next: async () => undefined }

export async function restore({ terminal, printer, target }: FolderContext, file: string): Promise<void> {
  const folder = await folderOfStoppedServer('restore', target)
  try {
    const { head, end } = await restoreBackup(readInput(file, terminal.input), folder)
    printer.done(
      `${folder} contains the backup of ${timeText(head.createdAt)}: ${end.rows} rows, ${end.files} files. Objects that were ` +
        'disabled, deleted or signed out since then are as before; check users, keys and sessions before users sign in',
      { folder, createdAt: head.createdAt, ...end },
    )
  } catch (error) {
    throw refusalFrom(error, folder)
  }
}

export async function repair({ printer, target, options }: FolderContext): Promise<void> {
  const folder = await folderOfStoppedServer('repair', target)
  if (configOf(target.reading).natsUrls.length > 0)
    throw new Refusal(`the data of a node of a cluster is not repaired: ${renewAdvice(folder)}`)
  const name = new Date(realWorld.now()).toISOString().slice(0, 19).replaceAll(':', '-')
  try {
    const found = await repairFolder({ folder, name, isForced: options.force === true })
    printer.text(repairText(folder, found), found)
  } catch (error) {
    throw refusalFrom(error, folder)
  }
}

/** The data folder; refuses if a server answers. @throws Misuse, Refusal */
async function folderOfStoppedServer(verb: string, { url, reading }: FolderContext['target']): Promise<string> {
  if (url !== undefined) throw new Misuse(`${verb} works on DATA_DIR of this machine: it takes no --url`)
  const config = configOf(reading)
  const base = addressOf(config)
  if (base !== undefined && (await isServing(base))) {
    throw new Refusal(
      `a server answers at ${base}: stop it first. To ${verb} next to it, set PORT=0 and another DATA_DIR.`,
    )
  }
  return config.dataDirectory
}

export async function inspect({ terminal, printer, target }: FolderContext, file?: string): Promise<void> {
  const where = file ?? configOf(target.reading).dataDirectory
  try {
    const { temporaryFiles, input } = terminal
    const found = await (file === undefined
      ? temporaryFiles.withFolder((temporary) => inspectFolder(where, temporary))
      : inspectBackup(readInput(file, input)))
    printer.text(inspectionText(where, found), found)
  } catch (error) {
    throw refusalFrom(error, where)
  }
}

function contentText({ end: { rows, files }, bytes }: WrittenBackup): string {
  return `${rows} rows and ${files} files, ${bytes} bytes`
}

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

const tenantColumns = [
  ['TENANT', 'tenant'],
  ['DEVICES', 'devices'],
  ['OTHERS', 'others'],
  ['INDEX', 'indexEntries'],
  ['REMINDERS', 'reminders'],
  ['SIZE', 'size'],
] as const

const streamColumns = [
  ['STREAM', 'tenant'],
  ['FROM', 'from'],
  ['TO', 'to'],
  ['REDO FROM', 'redoFrom'],
  ['SINCE', 'sinceAt'],
  ['UNTIL', 'untilAt'],
  ['SIZE', 'size'],
] as const

const epochColumns = [
  ['EPOCH', 'number'],
  ['NAME', 'name'],
  ['BEGAN AFTER', 'heads'],
] as const

/** How many of the latest epochs are shown. The JSON has all. */
const epochsShown = 8

/** The text for `inspect`. */
export function inspectionText(where: string, found: InspectionResult & { readonly createdAt?: number }): string {
  const { createdAt, rows, rowBytes, shapes, tells, images, history, hasIdentityKey, keySpace } = found
  const lines = [
    `${where}${createdAt === undefined ? '' : `, a backup of ${timeText(createdAt)}`}`,
    `key space ${keySpace ?? 'none yet'}; ${rows} rows, ${sizeText(rowBytes)}; ${shapes.count} shapes; ${tells} messages to deliver`,
    `${images.count} firmware images, ${sizeText(images.bytes)}; identity.key ${hasIdentityKey ? 'exists' : 'is missing'}`,
    history.count === 0 ? 'no history' : `history, ${sizeText(history.bytes)}`,
  ]
  const tables = [
    tableOf(tenantColumns, found.tenants.map(tenantRow)),
    tableOf(streamColumns, found.tenants.filter(({ stream }) => stream.redoFrom !== null).map(streamRow)),
    tableOf(epochColumns, found.epochs.slice(-epochsShown).map(epochRow)),
  ]
  return `${lines.join('\n')}\n\n${tables.join('\n')}`
}

function tenantRow({ tenant, actors, indexEntries, reminders }: TenantInspection) {
  const { device, ...others } = actors
  const bytes = Object.values(actors).reduce((sum, size) => sum + size.bytes, 0)
  return {
    tenant,
    devices: device?.count ?? 0,
    others: Object.entries(others).map(([kind, { count }]) => `${kind} ${count}`),
    indexEntries,
    reminders,
    size: sizeText(bytes),
  }
}

function streamRow({ tenant, stream: { from, to, redoFrom, since, until, bytes } }: TenantInspection) {
  return { tenant, from, to, redoFrom, sinceAt: since, untilAt: until, size: sizeText(bytes) }
}

function epochRow({ number, name, heads }: InspectionResult['epochs'][number]) {
  return { number, name, heads: Object.entries(heads).map(([tenant, offset]) => `${tenant} ${offset}`) }
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function sizeText(bytes: number): string {
  const place = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** place
  return `${place === 0 ? value : value.toFixed(1)} ${units[place]}`
}
