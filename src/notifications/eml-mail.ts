import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { domainOf, senderOf } from '#model/mail-address'
import { deliveredBy, type Mail, type MailMessage, MailRefused } from '#notifications/mail'
import { mimeOf } from '#notifications/mime-message'
import { StorageFailure } from '#runtime/storage'

export interface EmlMailOptions {
  /** Created if it does not exist. */
  readonly folder: string
  /** In the format of `MAIL_FROM`. */
  readonly from: string
  /** The oldest files beyond this number are removed; default 10 000. */
  readonly filesMax?: number
  /** Called if an old file could not be removed; the new mail is still accepted. */
  failed(error: unknown): void
}

const filesMaxByDefault = 10_000
const unfinished = /\.eml\.tmp$/
/** File names contain the mail's time in Unix ms and the first characters of its Message-ID, so they sort by time. */
const finished = /^\d{14}-[0-9a-f]{16}\.eml$/

/**
 * Writes each mail to a file in a folder, named by its time and Message-ID, so a mail that is sent twice is one file. A
 * file is complete or absent. Only the owner of a file can read it.
 */
export function emlMail({ folder, from, filesMax = filesMaxByDefault, failed }: EmlMailOptions): Mail {
  /** Ascending. */
  let names: string[] = []

  async function put(message: MailMessage): Promise<void> {
    const name = nameOf(message)
    const path = join(folder, name)
    try {
      await writeFile(`${path}.tmp`, await mimeOf(message), { mode: 0o600, flush: true })
      await rename(`${path}.tmp`, path)
      await syncNames()
    } catch (error) {
      await rm(`${path}.tmp`, { force: true }).catch(failed)
      throw new MailRefused('transport', (error as NodeJS.ErrnoException).code ?? 'WRITE')
    }
    insert(names, name)
    await removeOldest()
  }

  /** The caller does not send the mail again, so the file name must survive a power failure just as its bytes do. */
  async function syncNames(): Promise<void> {
    const handle = await open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  }

  async function removeOldest(): Promise<void> {
    const old = names.splice(0, Math.max(0, names.length - filesMax))
    for (const name of old) await rm(join(folder, name), { force: true }).catch(failed)
  }

  async function read(): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const all = await readdir(folder)
    for (const name of all.filter((name) => unfinished.test(name))) await rm(join(folder, name), { force: true })
    names = all.filter((name) => finished.test(name)).sort()
    await removeOldest()
  }

  return {
    kind: 'eml',
    from,
    host: domainOf(senderOf(from)?.address ?? from),
    async open() {
      try {
        await read()
      } catch (error) {
        const { code = 'ERROR' } = error as NodeJS.ErrnoException
        const kind = code === 'ENOSPC' ? 'full' : 'io'
        throw new StorageFailure(
          kind,
          `${folder}: mails cannot be written here (${code}): set SMTP_URL, or repair the folder`,
          {
            cause: error,
          },
        )
      }
    },
    ...deliveredBy(put),
  }
}

function nameOf({ id, date }: MailMessage): string {
  return `${String(Math.max(date, 0)).padStart(14, '0')}-${id.slice(0, 16)}.eml`
}

/** Mails arrive nearly in order, so the position is at the end or close to it. */
function insert(names: string[], name: string): void {
  let at = names.length
  while (at > 0 && (names[at - 1] ?? '') > name) at--
  if (names[at - 1] !== name) names.splice(at, 0, name)
}
