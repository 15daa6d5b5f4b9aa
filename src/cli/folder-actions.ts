import { realWorld } from '#app/world'
import { pipe, pipeBackup, readInput, refusalFrom, type WrittenBackup, writeBackup } from '#cli/backup-file'
import { renewAdvice } from '#cli/doctor/database'
import { Misuse, Refusal } from '#cli/exit-codes'
import type { FolderContext } from '#cli/folder'
import { inspectionText } from '#cli/inspection-text'
import type { Terminal } from '#cli/printer'
import { repairText } from '#cli/repair-text'
import { isServing } from '#cli/running-server'
import { addressOf, configOf, findServer, type NoServer } from '#cli/server-lookup'
import { timeText } from '#cli/table'
import { backupFolder, inspectBackup, inspectFolder } from '#store/backup/folder-backup'
import { restoreBackup } from '#store/backup/restore'
import { repairFolder } from '#store/repair/repair'

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
