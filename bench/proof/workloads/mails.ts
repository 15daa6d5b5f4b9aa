import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import { mailedDevice, reportedPropId, reportedService } from '#bench/proof/workloads/reports'
import { pass } from '#bench/time'

/** Functions that mail reports of devices, and the mails themselves. */

const mailTemplate = 'mailed'
const pollMs = 100

export async function createMailTemplate(api: ProofApi): Promise<void> {
  const body = { locales: { en: { subject: '{{value}}', text: '{{value}}' } } }
  await api.must('PUT', `/templates/${mailTemplate}`, { body })
}

/** Mails every report of these devices. Returns its resource name. */
export async function createMailFunction(
  api: ProofApi,
  name: string,
  devices: readonly string[],
  enabled = true,
): Promise<string> {
  const nodes = [
    { id: 'report', type: 'trigger', on: 'property', serviceIdentifier: reportedService, propId: reportedPropId },
    { id: 'tell', type: 'email', template: mailTemplate },
  ]
  const body = { name, enabled, binding: { devices }, graph: { nodes, edges: [['report', 'tell']] } }
  return (await api.must<{ resourceIdentifier: string }>('POST', '/functions', { body })).resourceIdentifier
}

/** The reports of `mailedDevice` that mails in a folder contain. Each file is read once, and may be deleted later. */
export class Mails {
  readonly #folder: string
  readonly #read = new Set<string>()
  readonly #reports = new Set<string>()

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'outbox')
  }

  async read(): Promise<void> {
    const names = (await readdir(this.#folder)).filter((name) => name.endsWith('.eml') && !this.#read.has(name))
    const texts = await Promise.all(names.map((name) => readFile(join(this.#folder, name), 'latin1')))
    for (const text of texts) this.#reports.add(`${mailedDevice} ${/^Subject: (.*)\r?$/m.exec(text)?.[1]?.trim()}`)
    for (const name of names) this.#read.add(name)
  }

  /** The reports without a mail, after waiting for them. */
  async missing(reports: readonly string[], timeoutMs: number): Promise<readonly string[]> {
    for (const end = performance.now() + timeoutMs; ; await pass(pollMs)) {
      await this.read()
      const missing = reports.filter((report) => !this.#reports.has(report))
      if (missing.length === 0 || performance.now() > end) return missing.map((report) => `no mail contains ${report}`)
    }
  }
}
