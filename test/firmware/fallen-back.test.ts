import { describe, expect, test } from 'vitest'
import { stayMsMin } from '#actors/update/machine'
import { putRelease, putRollout } from '#test/actors/acting-project'
import { FirmwareStage } from '#test/firmware/firmware-stage'
import { offered, type TestDevice, UpdateStage } from '#test/firmware/update-stage'

/** Devices that fall back behind an update that was done, and firmwares of one device that fail in turns. */

const hourMs = 60 * 60_000

/** On a link of its own, with what it had before. */
async function fallBack(stage: UpdateStage | FirmwareStage, device: TestDevice, session: string): Promise<void> {
  device.link.close()
  device.link = stage.room.connect()
  await device.hello({ session })
}

const offersIn = (told: readonly string[]) => told.filter((status) => status === 'offering').length

describe('a device that falls back', () => {
  test('is offered it again later and later, three times in all, and by hand whenever somebody asks', async () => {
    const stage = await UpdateStage.open()
    stage.checks.answer = ({ firmware }) => (firmware === '2.0.0' ? undefined : offered())
    const device = await stage.linked()
    for (const count of [1, 2, 3]) {
      // It has ten seconds to answer.
      while (offersIn(stage.told) < count) await stage.world.advance(5_000)
      await device.install()
      expect(stage.told.at(-1)).toBe('done')
      await fallBack(stage, device, `old-${count}`)
      expect([stage.told.at(-1), offersIn(stage.told)]).toEqual(['failed', count])
    }
    await stage.world.advance(2 * hourMs)
    for (const by of ['hook', 'cron'] as const) await stage.updater.consider('default', 'A', by)
    await fallBack(stage, device, 'old-4')
    expect(offersIn(stage.told)).toBe(3)
    stage.trigger()
    await stage.settle()
    expect([offersIn(stage.told), stage.bugs]).toEqual([4, []])
  })

  test('after a day is offered it as for the first time', async () => {
    const stage = await UpdateStage.open()
    stage.checks.answer = ({ firmware }) => (firmware === '2.0.0' ? undefined : offered())
    const device = await stage.linked()
    await device.install()
    await stage.world.advance(stayMsMin)
    await fallBack(stage, device, 'old')
    expect(stage.told.slice(-2)).toEqual(['done', 'offering'])
    expect(stage.stored()?.attempts).toMatchObject([{ count: 1 }])
  })

  test('stops the rollout that it came by', async () => {
    const stage = await FirmwareStage.open({ options: { isConnectUpdateDisabled: true } })
    const device = await stage.linked('D-0')
    await stage.ask(putRelease('2.0.0'))
    await stage.ask(putRollout('2.0.0', { errorThresholdPercent: 50 }))
    await device.install()
    expect(stage.project.tally.counts).toMatchObject({ done: 1, failed: 0 })
    await fallBack(stage, device, 'old')
    expect(stage.project.tally.counts).toMatchObject({ done: 0, failed: 1 })
    expect([stage.project.rollout?.state, stage.complaints]).toEqual(['stopped', []])
  })
})

test('two firmwares that fail in turns are each offered three times', async () => {
  const stage = await UpdateStage.open()
  stage.checks.answer = ({ index }) => offered('2.0.0', { index })
  const firmwares = [0, 1].map((index) => ({ firmware: '1.0.0', index }))
  const device = await stage.linked('A', { firmwares })
  let heard = 0
  for (let minutes = 0; minutes < 60; minutes++) {
    for (; heard < device.offers.length; heard++) await device.say('FAILED')
    // A HELLO now and then finds what is not held back; so does time alone.
    if (minutes % 2 === 0) await device.hello({ firmwares })
    await stage.world.advance(60_000)
  }
  expect(device.offers.map(({ index }) => index).sort()).toEqual([0, 0, 0, 1, 1, 1])
})
