import { Fleet } from '#bench/fleet/fleet'
import { Remote } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/server-target'
import type { FrameCounts } from '#bench/proof/overload/counted-fleet'
import { count, type EndCounts } from '#bench/proof/overload/end-counts'
import { localAddressOf } from '#bench/proof/overload/single-request'

export interface Attack {
  /** Prepares the attack before the normal latency is measured. */
  open(place: ServerTarget): Promise<void>
  /** Resolves after the attack, with how its requests and connections ended. */
  run(seconds: number): Promise<EndCounts>
  /** Whether everything it started was answered. */
  settle(): Promise<boolean>
  /** The frames that were acknowledged during the attack. */
  frameCounts(): Promise<readonly FrameCounts[]>
  readonly fleets: readonly Fleet[]
  close(): Promise<void>
}

/** A program of this folder in its own process. `isCounting`: its devices had frames acknowledged. */
export function programAttack(program: string, options: object, isCounting = false): Attack {
  const remote = new Remote(`proof/overload/${program}`)
  return {
    open: (place) => remote.ask('open', { ...options, ...place }),
    run: (seconds) => remote.ask<EndCounts>('run', { seconds }),
    settle: async () => !isCounting || (await remote.ask<boolean>('settle')),
    frameCounts: async () => (isCounting ? [await remote.ask<FrameCounts>('frameCounts')] : []),
    fleets: [],
    async close() {
      await remote.ask('close').catch(() => undefined)
      await remote.stop()
    },
  }
}

export interface StormOptions {
  readonly devices: number
  readonly rate: number
  readonly seed: number
}

const onlineMsMax = 90_000
const settleMsMax = 60_000

/** Devices with one link each, whose links all close and reconnect at the same time. */
export function stormAttack({ devices, rate, seed }: StormOptions): Attack {
  let fleet: Fleet | undefined
  const mine = () => {
    if (!fleet) throw new Error('there are no devices yet')
    return fleet
  }
  return {
    async open({ port, authorizations }) {
      fleet = new Fleet({
        url: `ws://127.0.0.1:${port}`,
        devices,
        links: devices,
        rate,
        changes: 2,
        protocol: 'msgpack',
        form: 'short',
        seed,
        key: authorizations ? keyOf(authorizations.link) : '',
        prefix: 'STORM',
        backoffMsMin: 50,
        backoffMsMax: 2_000,
        localAddressOf,
      })
      fleet.start()
      if (!(await fleet.allOnline(onlineMsMax))) throw new Error(`only ${fleet.devicesOnline} links connected`)
    },
    async run(seconds) {
      const ends: EndCounts = {}
      const over = performance.now() + seconds * 1000
      do {
        const isBack = await cutAndBack(mine())
        count(ends, 'back', mine().devicesOnline)
        if (!isBack) count(ends, `not back within ${onlineMsMax / 1000} s`, devices - mine().devicesOnline)
      } while (performance.now() < over)
      for (const [error, times] of mine().counts.errors) count(ends, `error ${error}`, times)
      // 1006: closed by us.
      for (const [code, times] of mine().counts.closes) if (code !== '1006') count(ends, `close ${code}`, times)
      for (const fault of mine().counts.faults) count(ends, fault)
      return ends
    },
    async settle() {
      mine().pause()
      return mine().settled(settleMsMax)
    },
    frameCounts: async () => [],
    get fleets() {
      return fleet ? [fleet] : []
    },
    async close() {
      await fleet?.stop(false)
    },
  }
}

/** Whether every link reconnected and every device is welcome again. */
async function cutAndBack(fleet: Fleet): Promise<boolean> {
  const links = fleet.counts.connects + fleet.report().linksOpen
  const over = performance.now() + onlineMsMax
  fleet.cutAll()
  while (fleet.counts.connects < links && performance.now() < over) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return fleet.allOnline(Math.max(0, over - performance.now()))
}

/** A gateway's key, from its `Authorization`. */
export function keyOf(authorization: string): string {
  const text = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString()
  return text.slice(text.indexOf(':') + 1)
}
