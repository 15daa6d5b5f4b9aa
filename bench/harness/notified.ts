import { copyDataFolder } from '#bench/harness/data-folder'
import { asked, identityOn } from '#bench/harness/identity'
import { Remote } from '#bench/harness/remote'
import { type RunningServer, startOn } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import type { AlarmedFleet } from '#bench/load/alarms'
import { type FunctionManner, functionBody, functionGroupBody, loadTemplate, templateBody } from '#bench/load/functions'
import type { MailsSeen } from '#bench/load/mail-sink'
import { bringInSubscribers } from '#bench/load/subscribers'
import { processUsage } from '#bench/process-usage'
import { freePort } from '#bench/server-process'

/** Servers with a function, and with people who hear of it by mail. */

/** What one of them left behind: its function is disabled. */
export interface LeftSubscribed {
  readonly folder: string
  /** The function's id. */
  readonly fn: string
  /** Ids of groups: the fleet, and as many devices that are none of it. */
  readonly groups: { readonly ours: string; readonly others: string }
}

/** Mails to one of them in an hour, so that a short storm is more than that. */
export const mailsPerHourMax = 5

const lookEveryMs = 250
const mailsPollMs = 50

/** Makes it all in an empty folder. Passwords are cheap there: nobody signs in while something is measured. */
export async function leaveSubscribed(
  folder: string,
  fleet: AlarmedFleet,
  subscribers: number,
): Promise<LeftSubscribed> {
  const server = await startOn(folder, identityOn, 'harness/cheap-passwords')
  const { port } = server
  try {
    const person = personOf(server)
    const make = async (path: string, body: object, method = 'POST') => {
      const made = await asked<{ resourceIdentifier: string }>(port, path, { person, body, method })
      return made.resourceIdentifier
    }
    const groupOf = async (manner: FunctionManner) => idOf(await make('/groups', functionGroupBody(manner, fleet)))
    const groups = { ours: await groupOf('unthrottled'), others: await groupOf('elsewhere') }
    await make(`/templates/${loadTemplate}`, templateBody, 'PUT')
    const topic = await make('/functions', { ...functionBody('unthrottled', fleet, groups.ours), enabled: false })
    await bringInSubscribers({ port, person, count: subscribers, topic })
    return { folder, fn: idOf(topic), groups }
  } finally {
    await server.stop()
  }
}

/** A copy of what was left, and a mail server for it. */
export interface Notified {
  readonly mails: Mails
  /** `before`: see `loadedBefore`. One at a time. */
  start(manner: FunctionManner | undefined, before?: string): Promise<RunningServer>
}

/** What came by mail. */
interface Mails {
  seen(): Promise<MailsSeen>
  /** Counts anew. */
  clear(): Promise<void>
  /** Waits until what was seen is that; throws with what was seen last. */
  until(isThere: (seen: MailsSeen) => boolean, timeoutMs: number): Promise<MailsSeen>
}

/** `fleet`: whose changes trigger. When `use` is done, nothing of it is left. */
export async function withNotified<Result>(
  { folder: left, fn, groups }: LeftSubscribed,
  fleet: AlarmedFleet,
  use: (notified: Notified) => Promise<Result>,
): Promise<Result> {
  const folder = temporaryFolder('bench-')
  const remote = new Remote('load/mails')
  try {
    await copyDataFolder(left, folder.path)
    const mailPort = await freePort()
    await remote.ask('listen', mailPort)
    const environment = {
      ...identityOn,
      DURABILITY: 'process',
      SMTP_URL: `smtp://127.0.0.1:${mailPort}`,
      MAILS_PER_HOUR_MAX: String(mailsPerHourMax),
    }
    return await use({
      mails: mailsOf(remote),
      async start(manner, before) {
        const server = await startOn(folder.path, environment, before)
        if (manner === undefined) return server
        const group = manner === 'elsewhere' ? groups.others : groups.ours
        const body = { ...functionBody(manner, fleet, group), enabled: true }
        try {
          await asked(server.port, `/functions/${fn}`, { person: personOf(server), body, method: 'PATCH' })
        } catch (error) {
          await server.stop()
          throw error
        }
        return server
      },
    })
  } finally {
    await remote.stop()
    await folder.remove()
  }
}

/** The most that was seen of them, at looks a few times a second. */
export interface Watched {
  /** Requests that are kept for who has not heard of them. */
  readonly waitingMost: number
  readonly residentMostBytes: number
}

/** Looks at the server as long as `run` takes. */
export async function watching<Result>(
  server: RunningServer,
  run: () => Promise<Result>,
): Promise<readonly [Result, Watched]> {
  let isOver = false
  let watched: Watched = { waitingMost: 0, residentMostBytes: 0 }
  const look = async () => {
    const path = '/notifications/outbox'
    const { waiting } = await asked<Outbox>(server.port, path, { person: personOf(server) })
    const { residentBytes = 0 } = processUsage(server.processId) ?? {}
    watched = {
      waitingMost: Math.max(watched.waitingMost, waiting.requests),
      residentMostBytes: Math.max(watched.residentMostBytes, residentBytes),
    }
  }
  const looks = async () => {
    while (!isOver) {
      await look()
      await pause(lookEveryMs)
    }
  }
  const running = run().finally(() => {
    isOver = true
  })
  const [result] = await Promise.all([running, looks()])
  return [result, watched]
}

interface Outbox {
  readonly waiting: { readonly requests: number }
}

function mailsOf(remote: Remote): Mails {
  const seen = async () => {
    const found = await remote.ask<MailsSeen>('seen')
    if (found.fault !== undefined) throw new Error(found.fault)
    return found
  }
  return {
    seen,
    clear: () => remote.ask('clear'),
    async until(isThere, timeoutMs) {
      const end = performance.now() + timeoutMs
      for (;;) {
        const found = await seen()
        if (isThere(found)) return found
        if (performance.now() > end) throw new Error(`mails that came: ${JSON.stringify(found)}`)
        await pause(mailsPollMs)
      }
    },
  }
}

function personOf({ authorizations }: RunningServer): string {
  if (!authorizations) throw new Error('nobody subscribes where identity is off')
  return authorizations.person
}

/** What is behind the last colon of a resource name. */
function idOf(resourceIdentifier: string): string {
  return resourceIdentifier.slice(resourceIdentifier.lastIndexOf(':') + 1)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
