import { afterEach, describe, expect, test } from 'vitest'
import type { ProjectNotices } from '#actors/notice-bus'
import { type ProjectCommand, projectAddress } from '#actors/project/state'
import { ImageUses, type LostImage, partNameOf } from '#firmware/image-uses'
import { StoreListing } from '#store/store-listing'
import { putRelease, releaseOf } from '#test/actors/acting-project'
import { ProjectsFixture, type ProjectsFixtureOptions } from '#test/firmware/projects-fixture'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, faultyStorage } from '#test/runtime/runtime-fixture'

/** Images as a set of hashes; `a` is short for sixty-four `a`s. */
class RecordedImages {
  readonly there = new Set<string>()
  /** Sizes of truncated images. */
  readonly sizes = new Map<string, number>()
  /** Removals wait for this promise. */
  removalsAllowed: Promise<void> | undefined
  isBroken = false
  /** Called before a removal. */
  beforeRemoval: (() => Promise<unknown>) | undefined
  /** The owned part names at the last sweep: for a size one byte below that of a release, and for its size. */
  owned: readonly (readonly string[])[] = []

  get shown(): string {
    return [...this.there].map((sha256) => sha256.slice(0, 1)).join('')
  }

  async remove(sha256: string): Promise<void> {
    await this.beforeRemoval?.()
    if (this.isBroken) throw new Error('the disk is broken')
    await this.removalsAllowed
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

/** Projects with recorded images. */
class ImageFixture extends ProjectsFixture {
  readonly uses: ImageUses
  readonly images: RecordedImages
  readonly failures: unknown[] = []
  readonly lost: LostImage[] = []

  constructor(images: RecordedImages, options: ProjectsFixtureOptions = {}) {
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

  /** Adds the images of releases, and then the releases. */
  async addReleases(project: string, ...commands: readonly ProjectCommand[]): Promise<void> {
    for (const command of commands) {
      if (command.type === 'put_release') this.images.there.add(command.release.sha256)
    }
    await this.putIn(project, ...commands)
  }

  async openUses(): Promise<void> {
    await during(this.world, this.uses.open())
  }
}

async function openImages(options: ProjectsFixtureOptions = {}, images = new RecordedImages()): Promise<ImageFixture> {
  const fixture = new ImageFixture(images, options)
  await fixture.open()
  await fixture.openUses()
  return fixture
}

let fixture: ImageFixture
afterEach(() => fixture.close())

const sha = (image: string) => image.repeat(64)

function deletion(firmware: string, hardware: string | null = null): ProjectCommand {
  return { type: 'delete_release', key: { firmware, hardware, index: 0 } }
}

test('an image is removed with its last release in any project', async () => {
  fixture = await openImages()
  await fixture.addReleases(
    'boiler',
    putRelease('1.0.0'),
    putRelease('1.0.0', { hardware: 'revA' }),
    putRelease('2.0.0', { image: 'b' }),
  )
  await fixture.addReleases('pump', putRelease('7.0.0'))
  await fixture.putIn('boiler', deletion('1.0.0'))
  expect(fixture.images.shown).toBe('ab')
  await fixture.putIn('boiler', deletion('1.0.0', 'revA'))
  expect(fixture.images.shown).toBe('ab')
  await fixture.putIn('pump', deletion('7.0.0'))
  expect(fixture.images.shown).toBe('b')
})

test('a start removes unused images only', async () => {
  const before = await openImages()
  for (const project of ['boiler', 'pump'])
    await before.addReleases(project, putRelease('1.0.0'), putRelease('2.0.0', { image: 'b' }))
  await before.putIn('boiler', deletion('2.0.0'))
  await before.close()
  before.images.there.add(sha('c'))
  fixture = await openImages(before, before.images)
  expect(fixture.images.shown).toBe('ab')
  await fixture.putIn('pump', deletion('2.0.0'))
  expect(fixture.images.shown).toBe('a')
})

test('a sweep gets the part names of current releases only', async () => {
  const before = await openImages()
  await before.addReleases('boiler', putRelease('1.0.0'), putRelease('2.0.0', { image: 'b' }))
  await before.addReleases('pump', putRelease('1.0.0'))
  await before.close()
  before.images.there.add(sha('c'))
  const { size } = releaseOf('1.0.0')
  fixture = (await new ImageFixture(before.images, before).open()) as ImageFixture
  const partsOf = (...projects: string[]) => [
    [],
    projects.map((project) => partNameOf(fixture.system, 'default', project, '0//1.0.0', size)),
  ]
  // Unused images are removed after everything was read.
  before.images.beforeRemoval = async () => {
    before.images.beforeRemoval = undefined
    await fixture.system.ask(projectAddress('default', 'boiler'), deletion('2.0.0'))
  }
  await fixture.openUses()
  expect(fixture.images.owned).toEqual(partsOf('boiler', 'pump'))
  expect(before.images.beforeRemoval).toBeUndefined()
  await fixture.putIn('pump', deletion('1.0.0'))
  await fixture.openUses()
  expect(fixture.images.owned).toEqual(partsOf('boiler'))
})

test('a start reports missing and truncated images, until they are uploaded again', async () => {
  const before = await openImages()
  for (const image of ['a', 'b', 'c'])
    await before.addReleases('boiler', putRelease(`1.0.${image.charCodeAt(0)}`, { image }))
  await before.addReleases('pump', putRelease('1.0.0', { image: 'b' }))
  await before.close()
  before.images.there.delete(sha('b'))
  before.images.sizes.set(sha('c'), 7)
  fixture = await openImages(before, before.images)
  expect(fixture.lost).toEqual([
    { sha256: sha('b'), releases: ['default/boiler/0//1.0.98', 'default/pump/0//1.0.0'], bytes: undefined },
    { sha256: sha('c'), releases: ['default/boiler/0//1.0.99'], bytes: 7 },
  ])
  expect(['a', 'b', 'c'].map((image) => fixture.uses.isLost(sha(image)))).toEqual([false, true, true])
  // Parts of lost images may be resumed.
  const ofA = partNameOf(fixture.system, 'default', 'boiler', '0//1.0.97', releaseOf('1.0.97').size)
  expect(fixture.images.owned).toEqual([[], [ofA]])
  fixture.images.there.add(sha('b'))
  await during(
    fixture.world,
    fixture.uses.keepWhile(sha('b'), async () => undefined),
  )
  await fixture.putIn('boiler', deletion('1.0.99'))
  expect(['b', 'c'].map((image) => fixture.uses.isLost(sha(image)))).toEqual([false, false])
})

test('no image is removed before all releases were read', async () => {
  const before = await openImages()
  await before.addReleases('boiler', putRelease('1.0.0'))
  await before.addReleases('pump', putRelease('1.0.0'))
  await before.close()
  fixture = (await new ImageFixture(before.images, before).open()) as ImageFixture
  expect(fixture.uses.isNamed(sha('z'))).toBe(true)
  await fixture.putIn('boiler', deletion('1.0.0'))
  expect(fixture.images.shown).toBe('a')
  await fixture.openUses()
  expect(fixture.uses.isNamed(sha('z'))).toBe(false)
  expect(fixture.images.shown).toBe('a')
  await fixture.putIn('pump', deletion('1.0.0'))
  expect(fixture.images.shown).toBe('')
})

describe('after a failed write', () => {
  async function openFaulty() {
    const world = new ManualWorld()
    const { backend, faults } = faultyStorage(world)
    fixture = await openImages({ world, backend })
    return faults
  }

  /** Waits until the store was read again. */
  async function recovered(): Promise<void> {
    for (let seconds = 0; !fixture.system.gate.isOpen && seconds < 1_000; seconds++) await fixture.world.advance(1_000)
    await fixture.openUses()
  }

  test('of a deletion the image stays', async () => {
    const faults = await openFaulty()
    await fixture.addReleases('boiler', putRelease('1.0.0'))
    faults.next = { fail: 'full', reachedDisk: false }
    await expect(fixture.putIn('boiler', deletion('1.0.0'))).rejects.toMatchObject({ code: 'storage' })
    expect(fixture.images.shown).toBe('a')
    await recovered()
    expect(fixture.images.shown).toBe('a')
    await fixture.putIn('boiler', deletion('1.0.0'))
    expect(fixture.images.shown).toBe('')
  })

  test.each([
    ['was stored, the image stays', true, 'a'],
    ['was not stored, the image is removed', false, ''],
  ])('of a release that %s', async (_, reachedDisk, shown) => {
    const faults = await openFaulty()
    fixture.images.there.add(sha('a'))
    faults.next = { fail: 'full', reachedDisk }
    const put = fixture.uses.keepWhile(sha('a'), () => fixture.putIn('boiler', putRelease('1.0.0')))
    await expect(during(fixture.world, put)).rejects.toMatchObject({ code: 'storage' })
    expect(fixture.images.shown).toBe('a')
    await recovered()
    expect(fixture.images.shown).toBe(shown)
  })
})

test('an image stays while its release is being stored, and is removed if the release is refused', async () => {
  fixture = await openImages()
  await fixture.addReleases('boiler', putRelease('1.0.0'))
  await during(
    fixture.world,
    fixture.uses.keepWhile(sha('a'), async () => {
      await fixture.system.ask(projectAddress('default', 'boiler'), deletion('1.0.0'))
      expect(fixture.images.shown).toBe('a')
      await fixture.system.ask(projectAddress('default', 'pump'), putRelease('7.0.0'))
    }),
  )
  expect(fixture.images.shown).toBe('a')

  fixture.images.there.add(sha('b'))
  const other = fixture.uses.keepWhile(sha('b'), () =>
    fixture.system.ask(projectAddress('default', 'pump'), putRelease('7.0.0', { image: 'b' })),
  )
  await expect(during(fixture.world, other)).rejects.toMatchObject({ code: 'conflict' })
  await fixture.settle()
  expect(fixture.images.shown).toBe('a')
})

test('keepAll delays the removal of unused images', async () => {
  fixture = await openImages()
  await fixture.addReleases('boiler', putRelease('1.0.0'), putRelease('2.0.0', { image: 'b' }))
  const letGo = [fixture.uses.keepAll(), fixture.uses.keepAll()]
  await fixture.putIn('boiler', deletion('1.0.0'))
  expect(fixture.images.shown).toBe('ab')
  letGo[0]?.()
  await fixture.settle()
  expect(fixture.images.shown).toBe('ab')
  letGo[1]?.()
  await fixture.settle()
  expect(fixture.images.shown).toBe('b')
  await fixture.putIn('boiler', deletion('2.0.0'))
  expect(fixture.images.shown).toBe('')
})

test('an image that is used again during keepAll stays', async () => {
  fixture = await openImages()
  await fixture.addReleases('boiler', putRelease('1.0.0'))
  const letGo = fixture.uses.keepAll()
  await fixture.putIn('boiler', deletion('1.0.0'))
  await fixture.addReleases('boiler', putRelease('3.0.0'))
  letGo()
  await fixture.settle()
  expect(fixture.images.shown).toBe('a')
})

test('an image of two failed uploads is removed after both', async () => {
  fixture = await openImages()
  fixture.images.there.add(sha('a'))
  let refuse: (error: Error) => void = () => {}
  const first = fixture.uses.keepWhile(
    sha('a'),
    () =>
      new Promise((_, reject) => {
        refuse = reject
      }),
  )
  const second = fixture.uses.keepWhile(sha('a'), () => Promise.reject(new Error('the second')))
  await expect(second).rejects.toThrow('the second')
  expect(fixture.images.shown).toBe('a')
  refuse(new Error('the first'))
  await expect(first).rejects.toThrow('the first')
  await fixture.settle()
  expect(fixture.images.shown).toBe('')
})

test('an upload of an image that is being removed is refused', async () => {
  fixture = await openImages()
  await fixture.addReleases('boiler', putRelease('1.0.0'))
  let allow: () => void = () => {}
  fixture.images.removalsAllowed = new Promise((resolve) => {
    allow = resolve
  })
  await fixture.putIn('boiler', deletion('1.0.0'))
  expect(fixture.images.shown).toBe('a')
  let isStored = false
  const again = fixture.uses.keepWhile(sha('a'), async () => {
    isStored = true
  })
  allow()
  await expect(during(fixture.world, again)).rejects.toMatchObject({ code: 'overloaded' })
  expect(isStored).toBe(false)
})

test('deleting a tenant ends its uses only', async () => {
  fixture = await openImages()
  const put = async (tenant: string, firmware: string, image: string) => {
    fixture.images.there.add(sha(image))
    const release = putRelease(firmware, { image })
    await during(fixture.world, fixture.system.ask(projectAddress(tenant, 'boiler'), release))
  }
  await put('default', '1.0.0', 'a')
  await put('default2', '1.0.0', 'a')
  await put('default2', '2.0.0', 'b')
  fixture.uses.tenantEnded('default2')
  await fixture.settle()
  expect(fixture.images.shown).toBe('a')
})

test('a failed removal is reported, and repeated at the next start', async () => {
  fixture = await openImages()
  await fixture.addReleases('boiler', putRelease('1.0.0'))
  fixture.images.isBroken = true
  await fixture.putIn('boiler', deletion('1.0.0'))
  expect(fixture.failures).toHaveLength(1)
  fixture.images.isBroken = false
  await fixture.openUses()
  expect(fixture.images.shown).toBe('')
})

test('a failed sweep is retried later, unless it is stopped', async () => {
  fixture = await openImages()
  fixture.images.there.add(sha('c'))
  fixture.images.isBroken = true
  await fixture.openUses()
  expect(fixture.failures).toHaveLength(1)
  fixture.images.isBroken = false
  await fixture.world.advance(1_000)
  expect(fixture.images.shown).toBe('')
  fixture.images.there.add(sha('c'))
  fixture.images.isBroken = true
  await fixture.openUses()
  fixture.images.isBroken = false
  fixture.uses.stop()
  await fixture.world.advance(1_000)
  expect(fixture.images.shown).toBe('c')
})

test('many projects are read page by page', async () => {
  const before = await openImages()
  const image = (place: number) => 'abcdef'.charAt(place % 6)
  for (let place = 0; place < 600; place++) {
    await before.addReleases(`P${place}`, putRelease('1.0.0', { image: image(place) }))
  }
  await before.close()
  fixture = await openImages(before, before.images)
  expect(fixture.images.shown).toBe('abcdef')
  for (let place = 0; place < 600; place += 6) await fixture.putIn(`P${place}`, deletion('1.0.0'))
  expect(fixture.images.shown).toBe('bcdef')
})
