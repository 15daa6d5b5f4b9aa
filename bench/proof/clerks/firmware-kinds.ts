import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { notedDevices } from '#bench/proof/clerks/device-kinds'
import type { Found, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { slotsOf } from '#bench/proof/clerks/named'
import { SeededRandom } from '#bench/random'

/** Writes about firmware: releases with their images, pins, rollouts. */

const imageBytesMax = 150_000

/** Releases and the files of their images: one that was acknowledged is whole on the disk. */
export function releasesKind(): LedgerKind {
  const path = '/updates/projects/images/releases'
  return {
    name: 'releases',
    slots: ['1.0.0', '1.0.1', '1.0.2'],
    wish(slot, before, number): Wish {
      if (before) return { method: 'DELETE', path: `${path}/${slot}`, held: undefined }
      const body = imageOf(number)
      return { method: 'PUT', path: `${path}/${slot}`, body, held: sha256Of(body) }
    },
    async look(api) {
      const found = new Map<string, Found>()
      const { status, text } = await api.ask('GET', path)
      const rows = status === 404 ? [] : (JSON.parse(text) as { firmware: string; sha256: string }[])
      for (const { firmware, sha256 } of rows) {
        const bytes = await readFile(join(api.dataFolder, 'images', sha256))
        if (sha256Of(bytes) !== sha256) throw new Error(`the image of ${firmware} is not what it is named by`)
        found.set(firmware, { held: sha256 })
      }
      return found
    },
  }
}

export function pinsKind(): LedgerKind {
  const path = '/updates/projects/pinned/pins'
  return {
    name: 'pins',
    slots: notedDevices.slice(0, 2),
    wish(slot, before, number, random): Wish {
      if (before && random.below(3) === 0) return { method: 'DELETE', path: `${path}/${slot}`, held: undefined }
      const firmware = `2.0.${number}`
      return { method: 'PUT', path: `${path}/${slot}`, body: { firmware }, held: firmware }
    },
    async look(api) {
      const { status, text } = await api.ask('GET', path)
      const rows = status === 404 ? [] : (JSON.parse(text) as { deviceIdentifier: string; firmware: string }[])
      return new Map(rows.map(({ deviceIdentifier, firmware }) => [deviceIdentifier, { held: firmware }]))
    },
  }
}

export function rolloutsKind(): LedgerKind {
  const slots = slotsOf('rolled', 2)
  const pathOf = (slot: string) => `/updates/projects/${slot}/rollout`
  return {
    name: 'rollouts',
    slots,
    wish(slot, before, number, random): Wish {
      const path = pathOf(slot)
      const [firmware, state] = before?.held.split(' ') ?? []
      const choice = random.below(3)
      if (firmware === undefined || choice === 0) {
        const body = { firmware: `3.0.${number}`, percent: 10 }
        return { method: 'PUT', path, body, held: `${body.firmware} running` }
      }
      if (choice === 1) return { method: 'DELETE', path, held: undefined }
      return state === 'running'
        ? { method: 'POST', path: `${path}/pause`, held: `${firmware} paused` }
        : { method: 'POST', path: `${path}/resume`, held: `${firmware} running` }
    },
    async look(api) {
      const found = new Map<string, Found>()
      for (const slot of slots) {
        const { status, text } = await api.ask('GET', pathOf(slot))
        if (status === 404) continue
        const { firmware, state } = JSON.parse(text) as { firmware: string; state: string }
        found.set(slot, { held: `${firmware} ${state}` })
      }
      return found
    },
  }
}

/** Another one for each number; of any length unless it is said. */
export function imageOf(number: number, length?: number): Buffer {
  const random = new SeededRandom(number)
  const bytes = Buffer.alloc(length ?? 1 + random.below(imageBytesMax))
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE(Math.floor(random.next() * 2 ** 32), at)
  return bytes
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
