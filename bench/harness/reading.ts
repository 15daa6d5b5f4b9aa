import { Remote } from '#bench/harness/remote'
import type { RunningServer } from '#bench/harness/servers'
import { placeOf } from '#bench/harness/under-load'
import type { IngestSpec, PhaseResult } from '#bench/load/ingest'
import type { ReadersSpec, ReadResult } from '#bench/load/readers'

/** Servers whose devices have something to read, and who reads it. */

/** A fleet, and where it is not. */
export type FleetSpec = Omit<IngestSpec, 'port' | 'serverProcessId' | 'authorizations'>

export async function started<Server extends RunningServer, Result>(
  start: () => Promise<Server>,
  use: (server: Server) => Promise<Result>,
): Promise<Result> {
  const server = await start()
  try {
    return await use(server)
  } finally {
    await server.stop()
  }
}

/** So many devices that may report while the rest goes on. */
export async function withFleet<Result>(
  server: RunningServer,
  spec: FleetSpec,
  use: (load: Remote) => Promise<Result>,
): Promise<Result> {
  return await withRemote('load/ingest', async (load) => {
    await load.ask('open', { ...spec, ...placeOf(server) })
    return await use(load)
  })
}

/** Until each of them has reported all its properties. */
export async function reported(load: Remote, devices: number): Promise<void> {
  for (let silent = devices; silent > 0; silent = await load.ask<number>('silent')) {
    await load.ask<PhaseResult>('run', { warmupMs: 0, measuredMs: 1_000 })
  }
}

/** Reads back to back for so long. */
export async function readFor(
  server: RunningServer,
  path: string,
  milliseconds: number,
  spec: Partial<ReadersSpec> = {},
): Promise<ReadResult> {
  return await withRemote('load/readers', async (readers) => {
    await readers.ask('begin', { ...placeOf(server), path, readers: 1, ...spec })
    return await readers.ask<ReadResult>('measure', milliseconds)
  })
}

async function withRemote<Result>(program: string, use: (remote: Remote) => Promise<Result>): Promise<Result> {
  const remote = new Remote(program)
  try {
    return await use(remote)
  } finally {
    await remote.stop()
  }
}
