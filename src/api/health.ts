import { z } from 'zod'
import { defineRoute, errorAnswers } from '#api/route-entry'

/** Health and status of the server. Contract 8. */

/**
 * Headers of a health check. A client sends a challenge (`challengeHeader`, in lower case), and the answer proves that
 * the server uses a certain data folder (`proofHeader`). Only a client that can read that folder can verify the proof.
 */
export const challengeHeader = 'server-challenge'
export const proofHeader = 'Server-Proof'
export const challengeBytes = 32
/** A challenge is Base64url; any other text is ignored. */
export const isChallenge = (text: string): boolean => /^[\w-]{43}$/.test(text)

export const readHealth = defineRoute('readHealth', {
  route: 'GET /health',
  summary: 'Check whether the server answers reads',
  access: 'none',
  answers: {
    200: { description: 'The server answers', schema: z.object({ status: z.literal('ok') }) },
    ...errorAnswers(503),
  },
  example: { answer: { status: 'ok' } },
})

const bytes = z.int().min(0)
const percent = z.number().min(0)
const count = z.int().min(0)

/** `entries`: messages of the log that a node has not stored. `ms`: how long it has been behind. */
const Lag = z.object({ entries: count, ms: count })

export const HealthStatus = z.object({
  cpu: z.object({ cpuUsagePercent: z.array(percent), cpuAverageUsagePercent: percent }),
  memory: z.object({
    freeMemoryBytes: bytes,
    totalMemoryBytes: bytes,
    freeMemoryPercent: percent,
    processMemoryBytes: bytes,
  }),
  disk: z.object({ freeDiskBytes: bytes, totalDiskBytes: bytes, freeDiskPercent: percent }),
  uptime: z.object({ systemUptimeSeconds: z.number(), processUptimeSeconds: z.number() }),
  database: z.object({ status: z.enum(['ok', 'read_only', 'closed']) }),
  links: count,
  sockets: count,
  devices: count,
  stream: z.object({ epoch: z.string(), offset: count, retainedFrom: count }),
  history: z.object({ lag: z.object({ entries: count, ms: z.number().min(0) }) }).optional(),
  /** Only on a node of a cluster. Contract 11. */
  cluster: z
    .object({
      node: z.string(),
      owner: z.string().nullable(),
      generation: count,
      isOwner: z.boolean(),
      lag: Lag,
      nodes: z.array(z.object({ node: z.string(), url: z.string(), lag: Lag })),
    })
    .optional(),
})
export type HealthStatus = z.infer<typeof HealthStatus>

export const readHealthStatus = defineRoute('readHealthStatus', {
  route: 'GET /health/status',
  summary: 'Read load, memory, disk and connections',
  access: { resource: 'health', action: 'read', within: 'tenant' },
  answers: { 200: { description: 'The status', schema: HealthStatus } },
  example: {
    answer: {
      cpu: { cpuUsagePercent: [12.5, 3.1], cpuAverageUsagePercent: 7.8 },
      memory: { freeMemoryBytes: 1, totalMemoryBytes: 2, freeMemoryPercent: 50, processMemoryBytes: 1 },
      disk: { freeDiskBytes: 1, totalDiskBytes: 2, freeDiskPercent: 50 },
      uptime: { systemUptimeSeconds: 4_000, processUptimeSeconds: 60 },
      database: { status: 'ok' },
      links: 1,
      sockets: 1,
      devices: 1,
      stream: { epoch: 'b0x1', offset: 12, retainedFrom: 1 },
      history: { lag: { entries: 0, ms: 0 } },
    },
  },
})
