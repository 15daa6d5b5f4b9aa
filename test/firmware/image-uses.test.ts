import { describe, expect, test } from 'vitest'
import type { ProjectNotices } from '#actors/notice-bus'
import type { ProjectCommand } from '#actors/project/commands'
import { projectAddress } from '#actors/project/state'
import { ImageUses, type LostImage } from '#firmware/image-uses'
import { partNameOf } from '#firmware/part-name'
import { StoreListing } from '#store/store-listing'
import { putRelease, releaseOf } from '#test/actors/acting-project'
import { ProjectStage, type ProjectStageOptions } from '#test/firmware/project-stage'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, faultyPlace } from '#test/runtime/runtime-fixture'

/** Images as a set of names: `a` stands for sixty-four of them. */
class Images {
  readonly there = new Set<string>()
  /** Of those that are not as long as they were. */
  readonly sizes = new Map<string, number>()
  /** As long as it is set, removals wait for it. */
  http: Promise<void> | undefined
  isBroken = false
  /** Before one is removed. */
  removing: (() => Promise<unknown>) | undefined
  /** What was said to be somebody's at the last sweep: of what is a byte shorter than a release, and of what is as long. */
  owned: readonly (readonly string[])[] = []

  get shown(): string {
    return [...this.there].map((sha256) => sha256.slice(0, 1)).join('')
  }

  async remove(sha256: string): Promise<void> {
    await this.removing?.()
    if (this.isBroken) throw new Error('the disk is broken')
    await this.http
    this.there.delete(sha256)
  }

  async sweep(isNamed: (sha256: string) => boolean, owned: (bytes: number) => Iterable<string>): Promise<void> {
    for (const sha256 of [...this.there]) if (!isNamed(sha256)) await this.remove(sha256)
    this.owned = [releaseOf('1.0.0').size - 1, releaseOf('1.0.0').size].map((bytes) => [...owned(bytes)])
  }

  async sizeOf(sha256: string): Promise<number | undefined> {
    return this.there.has(sha256) ? (this.sizes.get(sha256) ?? releaseOf('1.0.0').size) : undefined
  }
}

/** Projects whose images are kept. */
class ImageStage extends ProjectStage {
  readonly uses: ImageUses
  readonly images: Images
  readonly failures: unknown[] = []
  readonly lost: LostImage[] = []

  constructor(images: Images, options: ProjectStageOptions = {}) {
    const notices: ProjectNotices = {
      releasesChanged: (...change) => this.uses.releasesChanged(...change),
      scanRequested: () => {},
      rolloutChanged: () => {},
    }
    super({ ...options, notices })
    this.images = images
    this.uses = new ImageUses({
      system: this.system,
      listing: new StoreListing(() => this.journal.storage),
      images,
      failed: (error) => this.failures.push(error),
      lost: (images) => this.lost.push(...images),
    })
  }

  /** Images that came, and then what names them. */
  async bring(project: string, ...commands: readonly ProjectCommand[]): Promise<void> {
    for (const command of commands) {
      if (command.type === 'put_release') this.images.there.add(command.release.sha256)
    }
    await this.putIn(project, ...commands)
  }

  async read(): Promise<void> {
    await during(this.world, this.uses.open())
  }
}

async function openImages(options: ProjectStageOptions = {}, images = new Images()): Promise<ImageStage> {
  const stage = new ImageStage(images, options)
  await stage.open()
  await stage.read()
  return stage
}

const sha = (image: string) => image.repeat(64)

function deletion(firmware: string, hardware: string | null = null): ProjectCommand {
  return { type: 'delete_release', key: { firmware, hardware, index: 0 } }
}

test('an image goes with the last release that names it, in whatever project', async () => {
  const stage = await openImages()
  await stage.bring(
    'boiler',
    putRelease('1.0.0'),
    putRelease('1.0.0', { hardware: 'revA' }),
    putRelease('2.0.0', { image: 'b' }),
  )
  await stage.bring('pump', putRelease('7.0.0'))
  await stage.putIn('boiler', deletion('1.0.0'))
  expect(stage.images.shown).toBe('ab')
  await stage.putIn('boiler', deletion('1.0.0', 'revA'))
  expect(stage.images.shown).toBe('ab')
  await stage.putIn('pump', deletion('7.0.0'))
  expect(stage.images.shown).toBe('b')
  await stage.close()
})

test('at a start what nothing names goes, and what is named stays', async () => {
  const before = await openImages()
  for (const project of ['boiler', 'pump'])
    await before.bring(project, putRelease('1.0.0'), putRelease('2.0.0', { image: 'b' }))
  await before.putIn('boiler', deletion('2.0.0'))
  await before.close()
  before.images.there.add(sha('c'))
  const stage = await openImages(before, before.images)
  expect(stage.images.shown).toBe('ab')
  await stage.putIn('pump', deletion('2.0.0'))
  expect(stage.images.shown).toBe('a')
  await stage.close()
})

test('a sweep is told under what the images of releases came, not of those that are gone by then', async () => {
  const before = await openImages()
  await before.bring('boiler', putRelease('1.0.0'), putRelease('2.0.0', { image: 'b' }))
  await before.bring('pump', putRelease('1.0.0'))
  await before.close()
  before.images.there.add(sha('c'))
  const { size } = releaseOf('1.0.0')
  const stage = (await new ImageStage(before.images, before).open()) as ImageStage
  const partsOf = (...projects: string[]) => [
    [],
    projects.map((project) => partNameOf(stage.system, 'default', project, '0//1.0.0', size)),
  ]
  // While what nothing names is taken away, which follows all reading.
  before.images.removing = async () => {
    before.images.removing = undefined
    await stage.system.ask(projectAddress('default', 'boiler'), deletion('2.0.0'))
  }
  await stage.read()
  expect(stage.images.owned).toEqual(partsOf('boiler', 'pump'))
  expect(before.images.removing).toBeUndefined()
  await stage.putIn('pump', deletion('1.0.0'))
  await stage.read()
  expect(stage.images.owned).toEqual(partsOf('boiler'))
  await stage.close()
})

test('at a start what is named and not there, or of another length, is said, until it came again', async () => {
  const before = await openImages()
  for (const image of ['a', 'b', 'c']) await before.bring('boiler', putRelease(`1.0.${image.charCodeAt(0)}`, { image }))
  await before.bring('pump', putRelease('1.0.0', { image: 'b' }))
  await before.close()
  before.images.there.delete(sha('b'))
  before.images.sizes.set(sha('c'), 7)
  const stage = await openImages(before, before.images)
  expect(stage.lost).toEqual([
    { sha256: sha('b'), releases: ['default/boiler/0//1.0.98', 'default/pump/0//1.0.0'], bytes: undefined },
    { sha256: sha('c'), releases: ['default/boiler/0//1.0.99'], bytes: 7 },
  ])
  expect(['a', 'b', 'c'].map((image) => stage.uses.isLost(sha(image)))).toEqual([false, true, true])
  // What has come anew of the others is of use.
  const ofA = partNameOf(stage.system, 'default', 'boiler', '0//1.0.97', releaseOf('1.0.97').size)
  expect(stage.images.owned).toEqual([[], [ofA]])
  stage.images.there.add(sha('b'))
  await during(
    stage.world,
    stage.uses.keepWhile(sha('b'), async () => undefined),
  )
  await stage.putIn('boiler', deletion('1.0.99'))
  expect(['b', 'c'].map((image) => stage.uses.isLost(sha(image)))).toEqual([false, false])
  await stage.close()
})

test('none goes until all that is stored was read', async () => {
  const before = await openImages()
  await before.bring('boiler', putRelease('1.0.0'))
  await before.bring('pump', putRelease('1.0.0'))
  await before.close()
  const stage = (await new ImageStage(before.images, before).open()) as ImageStage
  expect(stage.uses.isNamed(sha('z'))).toBe(true)
  await stage.putIn('boiler', deletion('1.0.0'))
  expect(stage.images.shown).toBe('a')
  await stage.read()
  expect(stage.uses.isNamed(sha('z'))).toBe(false)
  expect(stage.images.shown).toBe('a')
  await stage.putIn('pump', deletion('1.0.0'))
  expect(stage.images.shown).toBe('')
  await stage.close()
})

describe('after a failed write', () => {
  async function openFaulty() {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    return { stage: await openImages({ world, place }), faults }
  }

  /** Until the store was read again. */
  async function recovered(stage: ImageStage): Promise<void> {
    for (let seconds = 0; !stage.system.gate.isOpen && seconds < 1_000; seconds++) await stage.world.advance(1_000)
    await stage.read()
  }

  test('of a deletion the image is still there', async () => {
    const { stage, faults } = await openFaulty()
    await stage.bring('boiler', putRelease('1.0.0'))
    faults.next = { fail: 'full', reachedDisk: false }
    await expect(stage.putIn('boiler', deletion('1.0.0'))).rejects.toMatchObject({ code: 'storage' })
    expect(stage.images.shown).toBe('a')
    await recovered(stage)
    expect(stage.images.shown).toBe('a')
    await stage.putIn('boiler', deletion('1.0.0'))
    expect(stage.images.shown).toBe('')
    await stage.close()
  })

  test.each([
    ['was stored after all, the image is there', true, 'a'],
    ['was not stored, the image goes', false, ''],
  ])('of a release that %s', async (_, reachedDisk, shown) => {
    const { stage, faults } = await openFaulty()
    stage.images.there.add(sha('a'))
    faults.next = { fail: 'full', reachedDisk }
    const put = stage.uses.keepWhile(sha('a'), () => stage.putIn('boiler', putRelease('1.0.0')))
    await expect(during(stage.world, put)).rejects.toMatchObject({ code: 'storage' })
    expect(stage.images.shown).toBe('a')
    await recovered(stage)
    expect(stage.images.shown).toBe(shown)
    await stage.close()
  })
})

test('while its release is being stored an image stays, and goes when that was refused', async () => {
  const stage = await openImages()
  await stage.bring('boiler', putRelease('1.0.0'))
  await during(
    stage.world,
    stage.uses.keepWhile(sha('a'), async () => {
      await stage.system.ask(projectAddress('default', 'boiler'), deletion('1.0.0'))
      expect(stage.images.shown).toBe('a')
      await stage.system.ask(projectAddress('default', 'pump'), putRelease('7.0.0'))
    }),
  )
  expect(stage.images.shown).toBe('a')

  stage.images.there.add(sha('b'))
  const other = stage.uses.keepWhile(sha('b'), () =>
    stage.system.ask(projectAddress('default', 'pump'), putRelease('7.0.0', { image: 'b' })),
  )
  await expect(during(stage.world, other)).rejects.toMatchObject({ code: 'conflict' })
  await stage.settle()
  expect(stage.images.shown).toBe('a')
  await stage.close()
})

test('as long as all are kept none goes, and then those that nothing names', async () => {
  const stage = await openImages()
  await stage.bring('boiler', putRelease('1.0.0'), putRelease('2.0.0', { image: 'b' }))
  const letGo = [stage.uses.keepAll(), stage.uses.keepAll()]
  await stage.putIn('boiler', deletion('1.0.0'))
  expect(stage.images.shown).toBe('ab')
  letGo[0]?.()
  await stage.settle()
  expect(stage.images.shown).toBe('ab')
  letGo[1]?.()
  await stage.settle()
  expect(stage.images.shown).toBe('b')
  await stage.putIn('boiler', deletion('2.0.0'))
  expect(stage.images.shown).toBe('')
  await stage.close()
})

test('what is named again while all are kept stays', async () => {
  const stage = await openImages()
  await stage.bring('boiler', putRelease('1.0.0'))
  const letGo = stage.uses.keepAll()
  await stage.putIn('boiler', deletion('1.0.0'))
  await stage.bring('boiler', putRelease('3.0.0'))
  letGo()
  await stage.settle()
  expect(stage.images.shown).toBe('a')
  await stage.close()
})

test('two that bring the same bytes: it goes when neither names it', async () => {
  const stage = await openImages()
  stage.images.there.add(sha('a'))
  let refuse: (error: Error) => void = () => {}
  const first = stage.uses.keepWhile(
    sha('a'),
    () =>
      new Promise((_, reject) => {
        refuse = reject
      }),
  )
  const second = stage.uses.keepWhile(sha('a'), () => Promise.reject(new Error('the second')))
  await expect(second).rejects.toThrow('the second')
  expect(stage.images.shown).toBe('a')
  refuse(new Error('the first'))
  await expect(first).rejects.toThrow('the first')
  await stage.settle()
  expect(stage.images.shown).toBe('')
  await stage.close()
})

test('what comes again while it is being taken away is not taken for there', async () => {
  const stage = await openImages()
  await stage.bring('boiler', putRelease('1.0.0'))
  let open: () => void = () => {}
  stage.images.http = new Promise((resolve) => {
    open = resolve
  })
  await stage.putIn('boiler', deletion('1.0.0'))
  expect(stage.images.shown).toBe('a')
  let isStored = false
  const again = stage.uses.keepWhile(sha('a'), async () => {
    isStored = true
  })
  open()
  await expect(during(stage.world, again)).rejects.toMatchObject({ code: 'overloaded' })
  expect(isStored).toBe(false)
  await stage.close()
})

test('with a tenant all of its uses end, and no others', async () => {
  const stage = await openImages()
  const put = async (tenant: string, firmware: string, image: string) => {
    stage.images.there.add(sha(image))
    const release = putRelease(firmware, { image })
    await during(stage.world, stage.system.ask(projectAddress(tenant, 'boiler'), release))
  }
  await put('default', '1.0.0', 'a')
  await put('default2', '1.0.0', 'a')
  await put('default2', '2.0.0', 'b')
  stage.uses.tenantEnded('default2')
  await stage.settle()
  expect(stage.images.shown).toBe('a')
  await stage.close()
})

test('an image that cannot be taken away is said, and gone after the next start', async () => {
  const stage = await openImages()
  await stage.bring('boiler', putRelease('1.0.0'))
  stage.images.isBroken = true
  await stage.putIn('boiler', deletion('1.0.0'))
  expect(stage.failures).toHaveLength(1)
  stage.images.isBroken = false
  await stage.read()
  expect(stage.images.shown).toBe('')
  await stage.close()
})

test('what could not be swept is tried again after a while, unless all ends before', async () => {
  const stage = await openImages()
  stage.images.there.add(sha('c'))
  stage.images.isBroken = true
  await stage.read()
  expect(stage.failures).toHaveLength(1)
  stage.images.isBroken = false
  await stage.world.advance(1_000)
  expect(stage.images.shown).toBe('')
  stage.images.there.add(sha('c'))
  stage.images.isBroken = true
  await stage.read()
  stage.images.isBroken = false
  stage.uses.stop()
  await stage.world.advance(1_000)
  expect(stage.images.shown).toBe('c')
  await stage.close()
})

test('many projects are read page by page', async () => {
  const before = await openImages()
  const image = (place: number) => 'abcdef'.charAt(place % 6)
  for (let place = 0; place < 600; place++) {
    await before.bring(`P${place}`, putRelease('1.0.0', { image: image(place) }))
  }
  await before.close()
  const stage = await openImages(before, before.images)
  expect(stage.images.shown).toBe('abcdef')
  for (let place = 0; place < 600; place += 6) await stage.putIn(`P${place}`, deletion('1.0.0'))
  expect(stage.images.shown).toBe('bcdef')
  await stage.close()
})
