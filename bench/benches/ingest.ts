import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Bench } from '#bench/bench'
import type { FleetSecond } from '#bench/fleet/second'
import { FleetProcess } from '#bench/fleet-process'
import { processUsage } from '#bench/process-usage'
import { freePort, startServer } from '#bench/server-process'

const warmupSeconds = 3
const measuredSeconds = 10

/**
 * How many changes a second a fresh server takes when a fleet sends as fast as its windows allow, and what one costs the
 * server's processor. The fleet runs on the same machine: on few processors it takes part of what it measures, which is
 * why the cost of a change says more than their number.
 */
export const ingest: Bench = {
  question:
    'changes/s a fresh server acknowledges at full speed (500 devices on 20 links, msgpack, short, 4 per frame)',
  async run(print) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'bench-ingest-'))
    const server = await startServer({ port: await freePort(), dataFolder })
    const readings: { readonly second: FleetSecond; readonly cpuSeconds: number | undefined }[] = []
    const args = `--devices 500 --links 20 --rate 0 --protocol msgpack --form short --changes 4 --warmup ${warmupSeconds}`
    const fleet = new FleetProcess(
      ['--url', server.url.replace(/^http/, 'ws'), '--seconds', `${measuredSeconds}`, ...args.split(' ')],
      (second) => {
        if (second.isWarm) readings.push({ second, cpuSeconds: processUsage(server.processId)?.cpuSeconds })
      },
    )
    try {
      await fleet.ended
      const first = readings[0]
      const last = readings.at(-1)
      if (!first || !last || !fleet.final)
        throw new Error(`the fleet told nothing\n${fleet.errors}\n${server.lines.join('\n')}`)
      const changes = last.second.changesAcknowledged - first.second.changesAcknowledged
      const seconds = (last.second.at - first.second.at) / 1000
      const { latencyMs, faults } = fleet.final
      print(`changes/s            ${Math.round(changes / seconds)}`)
      print(`acknowledgement      p50 ${latencyMs.p50} ms, p99 ${latencyMs.p99} ms, p99.9 ${latencyMs.p999} ms`)
      if (first.cpuSeconds !== undefined && last.cpuSeconds !== undefined) {
        const cpuSeconds = last.cpuSeconds - first.cpuSeconds
        print(`server CPU           ${((cpuSeconds / seconds) * 100).toFixed(0)} %`)
        print(`server CPU a change  ${((cpuSeconds / changes) * 1e6).toFixed(2)} µs`)
      }
      for (const fault of faults) print(`FAULT: ${fault}`)
    } finally {
      await fleet.stop()
      await server.stop()
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
}
