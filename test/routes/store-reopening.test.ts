import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { StorageBackend } from '#runtime/storage'
import { until } from '#test/http/http-fixture'
import { FirmwareFixture } from '#test/routes/firmware-fixture'
import { memoryStorage, type WriteFault } from '#test/store/memory'

/** A server whose disk was full for a moment; its store is closed and not open again yet. */
let fixture: FirmwareFixture
let letOpen: () => void

beforeEach(async () => {
  // The log reports the full disk.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  let fault: WriteFault | undefined
  let isOpened = false
  let isReopening = false
  const opening = new Promise<void>((resolve) => {
    letOpen = resolve
  })
  const beforeWrite = () => {
    const now = fault
    fault = undefined
    return now
  }
  const memory = memoryStorage({ faults: { beforeWrite } })
  const backend: StorageBackend = {
    async open() {
      if (isOpened) {
        isReopening = true
        await opening
      }
      isOpened = true
      return memory.open()
    },
    hasRoom: () => memory.hasRoom(),
    releaseHeadroom: () => memory.releaseHeadroom(),
    restoreHeadroom: () => memory.restoreHeadroom(),
  }
  fixture = await FirmwareFixture.open({}, backend)
  await fixture.known('SENSOR-1', 'boiler', [{ firmware: '1.0.0', index: 0 }])
  fault = { fail: 'full', reachedDisk: false }
  expect((await fixture.put('/updates/projects/boiler/pins/SENSOR-1', { firmware: '1.0.0' })).status).toBe(503)
  await until(() => isReopening)
})

afterEach(async () => {
  letOpen()
  await fixture?.close()
  vi.restoreAllMocks()
})

test('a list is answered with 503 while the store is closed, and in full afterwards', async () => {
  const lists = ['/devices', '/services', '/alarms/status', '/updates', '/updates?limit=1', '/updates/projects']
  for (const list of lists) {
    const { status, json } = await fixture.call('GET', list)
    expect([list, status, json]).toEqual([list, 503, { error: 'STORAGE' }])
  }
  expect(fixture.http.log.lines.filter(({ level }) => level === 'error')).toEqual([])
  letOpen()
  await until(() => fixture.assembly.database.status === 'ok')
  for (const list of lists) expect((await fixture.call('GET', list)).status).toBe(200)
})
