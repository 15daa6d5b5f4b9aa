import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LinkClient } from '#test/blackbox/link-client'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { environmentOf, environmentOn, outputOf } from '#test/cli/admin-process'
import { administerAt } from '#test/cli/administer-at'
import { folderOfTest } from '#test/temporary-folder'

const device = 'HISTORY-1'
const service = 'climate'
const hour = 3_600_000

async function countOf(server: StartedServer): Promise<number | undefined> {
  let text = ''
  await until(async () => {
    const answer = await server.get(`/devices/${device}/services/${service}/history`)
    text = answer.text
    return answer.status === 200
  }, 'history to be up to date')
  return (JSON.parse(text) as { series: { time: number[] }[] }).series[0]?.time.length
}

test('a backup of a running or a stopped server has the history, unless it is left out', async () => {
  const home = folderOfTest()
  const server = await StartedServer.start({ HISTORY: 'on' })
  const link = await LinkClient.open(server, 'json')
  const properties = [{ propId: 0x2000, type: 'FLOAT', value: 20 }]
  await link.hello(device, [{ serviceIdentifier: service, properties }], { session: 'boot' })
  // The import adds points that are not in the stream. The declaration has added one.
  const rows = [3, 2, 1].map((hours) => `${device},${service},8192,${Date.now() - hours * hour},21`)
  const body = ['deviceIdentifier,serviceIdentifier,propId,time,value', ...rows].join('\n')
  await server.ask('/history/import', { method: 'POST', body, headers: { 'content-type': 'text/csv' } })

  const restoredFrom = async (environment: Readonly<Record<string, string>>, args: readonly string[] = []) => {
    const name = String(readdirSync(home).length)
    const [file, folder] = [join(home, `${name}.backup`), join(home, name)]
    outputOf(await administerAt(environment, ['backup', file, ...args]))
    const inspection = JSON.parse(outputOf(await administerAt({}, ['inspect', file, '--json'])))
    outputOf(await administerAt(environmentOn(folder), ['restore', file]))
    const other = await StartedServer.start({ HISTORY: 'on' }, folder)
    const count = await countOf(other)
    await other.finish()
    return [count, inspection.history.count > 0]
  }
  expect(await countOf(server)).toBe(4)
  expect(await restoredFrom(environmentOf(server))).toEqual([4, true])
  expect(await restoredFrom(environmentOf(server), ['--no-history'])).toEqual([1, false])
  expect(readdirSync(server.dataFolder).filter((name) => name.startsWith('.'))).toEqual([])
  await server.stop()
  expect(await restoredFrom(environmentOn(server.dataFolder))).toEqual([4, true])
  expect(await restoredFrom(environmentOn(server.dataFolder), ['--no-history'])).toEqual([1, false])
  await server.finish()
})
