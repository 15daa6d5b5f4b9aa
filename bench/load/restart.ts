import { answerWith } from '#bench/harness/answering'
import { request } from '#bench/http'
import { DevicesRead } from '#bench/load/devices-read'
import { LoadFleet, type LoadFleetOptions } from '#bench/load/fleet'

/** A server that was just started, and when: Unix ms. */
export interface StartedServer {
  readonly port: number
  readonly spawnedAt: number
}

export interface StartSeen {
  readonly firstAnswerMs: number
}

export interface ReadSeen {
  readonly firstBytesMs: number
  readonly devices: number
}

const knockEveryMs = 10
const answerMsMax = 120_000

let fleet: LoadFleet

/** A fleet that is there before the server goes, and who reads what it shows when it is back. */
answerWith({
  /** Says HELLO for all, and lets each device report all it has. */
  async fill(options: LoadFleetOptions): Promise<void> {
    fleet = new LoadFleet(options)
    await fleet.open()
    fleet.begin()
    while (fleet.numbers.includes(-1)) {
      fleet.check()
      await pause(50)
    }
    fleet.check()
  },

  /** Sends on at full speed, at least so many frames; what comes behind them is still on its way. */
  async flood(frames: number): Promise<void> {
    const enough = fleet.acknowledged + frames
    while (fleet.acknowledged < enough) {
      fleet.check()
      await pause(1)
    }
    fleet.check()
  },

  /** The server is gone. What it said before is still read. */
  async leave(): Promise<void> {
    await pause(100)
    fleet.close()
  },

  async knock({ port, spawnedAt }: StartedServer): Promise<StartSeen> {
    while (now() - spawnedAt < answerMsMax) {
      const answer = await request(`http://127.0.0.1:${port}/api/v1/health`).catch(() => undefined)
      if (answer?.status === 200) return { firstAnswerMs: now() - spawnedAt }
      await pause(knockEveryMs)
    }
    throw new Error(`no answer within ${answerMsMax / 1000} s`)
  },

  async read({ port, spawnedAt }: StartedServer): Promise<ReadSeen> {
    const read = new DevicesRead(fleet)
    const startedAt = await read.run(port)
    return { firstBytesMs: startedAt - spawnedAt, devices: read.devices }
  },
})

function now(): number {
  return performance.timeOrigin + performance.now()
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
