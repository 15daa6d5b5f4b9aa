import { statfs } from 'node:fs/promises'
import { cpus, freemem, totalmem, uptime } from 'node:os'
import { tenantAddress } from '#actors/tenant/commands'
import { challengeHeader, type HealthStatus, isChallenge, proofHeader, readHealth, readHealthStatus } from '#api/health'
import { type Binding, bind, ofEachNode } from '#http/call'
import type { Caller } from '#model/caller'
import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'
import type { RouteContext } from '#routes/context'

export interface HealthOptions {
  readonly dataDirectory: string
  readonly databaseStatus: () => HealthStatus['database']['status']
  /** Proves to callers that may read the data folder that this server uses it. */
  readonly proofOf: (challenge: string) => string
  /** The state of the cluster, as this node knows it. Absent: this server is not a node of a cluster. */
  readonly cluster?: { readonly answersReads: boolean; status(): HealthStatus['cluster'] } | undefined
}

/** Routes for the server's health. Contract 8. */
export function healthRoutes(context: RouteContext, options: HealthOptions): Binding[] {
  const cpu = new CpuUsage()
  return [
    ofEachNode(
      bind(readHealth, (call) => {
        if (options.cluster?.answersReads === false) throw new Problem('storage')
        const challenge = call.header(challengeHeader)
        const headers = isChallenge(challenge) ? { [proofHeader]: options.proofOf(challenge) } : {}
        return { status: 200, headers, json: { status: 'ok' } }
      }),
    ),
    ofEachNode(
      bind(readHealthStatus, async ({ caller }) => ({
        status: 200,
        json: await status(context, options, caller, cpu),
      })),
    ),
  ]
}

async function status(
  { system, devices: { links }, events: { hub, reader }, history }: RouteContext,
  { dataDirectory, databaseStatus, cluster }: HealthOptions,
  { tenant, scope }: Caller,
  cpu: CpuUsage,
): Promise<HealthStatus> {
  const disk = await statfs(dataDirectory)
  const { counters } = system.wake(tenantAddress(tenant))
  // Only callers that manage tenants may see connections of other tenants.
  const isOfAll = isPermitted(scope, 'tenants', 'read')
  return {
    cpu: cpu.sinceLast(),
    memory: {
      freeMemoryBytes: freemem(),
      totalMemoryBytes: totalmem(),
      freeMemoryPercent: percent(freemem(), totalmem()),
      processMemoryBytes: process.memoryUsage.rss(),
    },
    disk: {
      freeDiskBytes: disk.bavail * disk.bsize,
      totalDiskBytes: disk.blocks * disk.bsize,
      freeDiskPercent: percent(disk.bavail, disk.blocks),
    },
    uptime: { systemUptimeSeconds: uptime(), processUptimeSeconds: process.uptime() },
    database: { status: databaseStatus() },
    links: isOfAll ? links.linkCount : links.linkCountOf(tenant),
    sockets: hub.socketCount(isOfAll ? undefined : tenant),
    devices: counters.devices,
    stream: {
      epoch: reader.epoch,
      offset: system.registry.head(tenant).committed,
      retainedFrom: reader.retainedFrom(tenant),
    },
    ...(history && { history: { lag: history.lag } }),
    ...(cluster && { cluster: cluster.status() }),
  }
}

/** Load of each core since the last request; at first, since the machine's start. */
class CpuUsage {
  #last: readonly { readonly busy: number; readonly all: number }[] = []

  sinceLast(): HealthStatus['cpu'] {
    const now = cpus().map(({ times }) => {
      const all = Object.values(times).reduce((sum, time) => sum + time, 0)
      return { busy: all - times.idle, all }
    })
    const cpuUsagePercent = now.map(({ busy, all }, core) => {
      const before = this.#last[core] ?? { busy: 0, all: 0 }
      return percent(busy - before.busy, all - before.all)
    })
    this.#last = now
    const sum = cpuUsagePercent.reduce((total, usage) => total + usage, 0)
    return { cpuUsagePercent, cpuAverageUsagePercent: rounded(sum / Math.max(1, cpuUsagePercent.length)) }
  }
}

function percent(part: number, whole: number): number {
  return whole > 0 ? rounded((part / whole) * 100) : 0
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
