import { expect, test } from 'vitest'
import type { UpdateQuery } from '#model/update-offer'
import { offered, UpdateFixture } from '#test/firmware/update-fixture'

const answers = ({ firmware }: UpdateQuery) => (firmware === '2.0.0' ? undefined : offered())

test('a server that was killed during a query asks the update server again', async () => {
  const fixture = await UpdateFixture.open({ options: { isConnectUpdateDisabled: true } })
  fixture.checks.isHeld = true
  await fixture.connect()
  fixture.trigger()
  await fixture.settle()
  const next = new UpdateFixture({ world: fixture.world, backend: fixture.linkFixture.runtime.backend })
  fixture.linkFixture.runtime.crash()
  next.checks.answer = answers
  await next.start()
  expect([next.checks.queries.length, next.stored()?.state]).toEqual([1, 'offering'])
  const device = await next.connect()
  expect(device.offers).toHaveLength(1)
})

test('an update in progress keeps its slot after a restart', async () => {
  const fixture = await UpdateFixture.open({ options: { underWayMax: 1 } })
  fixture.checks.answer = answers
  const device = await fixture.connect()
  await device.report('STARTED')
  const next = await fixture.restart({ options: { underWayMax: 1 } })
  next.checks.answer = answers
  const other = await next.connect('B')
  expect([next.updater.underWay, other.offers.length]).toEqual([1, 0])
})
