import { realWorld } from '#app/world'
import { type Kept, keepBackup, pipe, pipeBackup, readFileOr, refusalFrom } from '#cli/backup-file'
import type { Terminal } from '#cli/command'
import { addressOf, configOf, findServer, type NoServer } from '#cli/connecting'
import { Misuse, Refusal } from '#cli/ending'
import type { FolderWork } from '#cli/folder'
import { inspectedText } from '#cli/inspected'
import { repairedText } from '#cli/repaired'
import { isServing } from '#cli/running-server'
import { timeText } from '#cli/table'
import { backupFolder, inspectBackup, inspectFolder } from '#store/backup/folder-backup'
import { restoreBackup } from '#store/backup/restore'
import { repairFolder } from '#store/repair/repair'

/** What is done to the data as a whole. */

export async function backup({ terminal, printer, wanted }: FolderWork, file: string): Promise<void> {
  if (file === pipe && terminal.out.isTTY)
    throw new Misuse('a backup is not for a terminal: name a file, or pipe it on')
  const found = await findServer(wanted, true)
  try {
    const begin = async () => ('client' in found ? found.backup() : offline(found, terminal))
    const kept =
      file === pipe ? await pipeBackup(terminal.out, await begin()) : await keepBackup(file, terminal.leftovers, begin)
    if (file === pipe) terminal.notes.write(`${wordsOf(kept)}\n`)
    else printer.done(`${file} holds ${wordsOf(kept)}. Keep it as you keep a password`, { file, ...kept })
  } catch (error) {
    throw refusalFrom(error, file)
  } finally {
    if ('client' in found) await found.close()
  }
}

async function* offline({ config, unheard }: NoServer, { notes }: Terminal): AsyncGenerator<Uint8Array> {
  const { dataDirectory: folder } = config
  notes.write(`${unheard}: backing up the data folder ${folder} of the stopped server\n`)
  try {
    yield* backupFolder(folder, realWorld.now(), unhurried)
  } catch (error) {
    const refusal = refusalFrom(error, folder)
    throw refusal instanceof Refusal
      ? new Refusal(`${refusal.message}\nIf a server runs elsewhere, say where with --url.`)
      : refusal
  }
}

/** Nobody else is in this process. */
const unhurried = { isOver: false, next: async () => undefined }

export async function restore({ terminal, printer, wanted }: FolderWork, file: string): Promise<void> {
  const folder = await folderAlone('restore', wanted)
  try {
    const { head, end } = await restoreBackup(readFileOr(file, terminal.input), folder)
    printer.done(
      `${folder} holds the backup of ${timeText(head.createdAt)}: ${end.rows} rows, ${end.files} files. What was disabled, ` +
        'deleted or signed out since then is as it was; look at users, keys and sessions before others do',
      { folder, createdAt: head.createdAt, ...end },
    )
  } catch (error) {
    throw refusalFrom(error, folder)
  }
}

export async function repair({ printer, wanted, options }: FolderWork): Promise<void> {
  const folder = await folderAlone('repair', wanted)
  const name = new Date(realWorld.now()).toISOString().slice(0, 19).replaceAll(':', '-')
  try {
    const found = await repairFolder({ folder, name, isForced: options.force === true })
    printer.text(repairedText(folder, found), found)
  } catch (error) {
    throw refusalFrom(error, folder)
  }
}

/** The data folder, where no server answers. @throws Misuse, Refusal */
async function folderAlone(verb: string, { url, reading }: FolderWork['wanted']): Promise<string> {
  if (url !== undefined) throw new Misuse(`${verb} works on DATA_DIR of this machine: --url means nothing to it`)
  const config = configOf(reading)
  const base = addressOf(config)
  if (base !== undefined && (await isServing(base))) {
    throw new Refusal(
      `a server answers at ${base}: stop it first. To ${verb} beside it, set PORT=0 and a DATA_DIR of its own.`,
    )
  }
  return config.dataDirectory
}

export async function inspect({ terminal, printer, wanted }: FolderWork, file?: string): Promise<void> {
  const where = file ?? configOf(wanted.reading).dataDirectory
  try {
    const { leftovers, input } = terminal
    const found = await (file === undefined
      ? leftovers.withFolder((temporary) => inspectFolder(where, temporary))
      : inspectBackup(readFileOr(file, input)))
    printer.text(inspectedText(where, found), found)
  } catch (error) {
    throw refusalFrom(error, where)
  }
}

function wordsOf({ end: { rows, files }, bytes }: Kept): string {
  return `${rows} rows and ${files} files, ${bytes} bytes`
}
