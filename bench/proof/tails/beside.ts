import { mkdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { ProofApi } from '#bench/proof/clerks/proof-api'
import { openLeft } from '#bench/proof/left-folder'
import { faultsOfFile, type TailFault } from '#bench/proof/tails/fault'
import { tailReleases, type Whole } from '#bench/proof/tails/whole'
import { repairFolder } from '#store/repair/repair'

const warnedMsMax = 5_000

/** What is done to files beside the database, or to all of it; or to a log, so that a release comes back without its image. */
export interface BesideFault {
  /** In the data folder. */
  readonly file: string
  readonly said: string
  damage(folder: string): void
  /** What is wrong with what comes of it. */
  judge(folder: string, whole: Whole): Promise<string | undefined>
}

export function besideFaults({ dataFolder, image, imageTakenAway, logs }: Whole): readonly BesideFault[] {
  const ofFile = (file: string) => faultsOfFile(file, statSync(join(dataFolder, file)).size)
  const inFolder = (fault: TailFault, judge: BesideFault['judge']): BesideFault => {
    const { file, said } = fault
    return { file, said, damage: (folder) => fault.damage(join(folder, file)), judge }
  }
  return [
    ...ofFile('identity.key').map((fault) => inFolder(fault, refusedBy('identity.key'))),
    ...ofFile(`images/${image}`).map((fault) => inFolder(fault, imageSaid(image, fault.isDeep))),
    {
      file: 'db',
      said: 'taken away',
      damage: (folder) => emptied(folder, false),
      judge: refusedBy('the database (db)'),
    },
    { file: 'db', said: 'emptied', damage: (folder) => emptied(folder, true), judge: refusedBy('the database (db)') },
    ...logs.map(
      ({ file }): BesideFault => ({
        file: `db/${file}`,
        said: 'emptied, and the images as they are',
        damage: (folder) => truncateSync(join(folder, 'db', file)),
        judge: imageSaid(imageTakenAway, false),
      }),
    ),
  ]
}

function emptied(folder: string, isThere: boolean): void {
  rmSync(join(folder, 'db'), { recursive: true })
  if (isThere) mkdirSync(join(folder, 'db'))
}

function refusedBy(name: string): BesideFault['judge'] {
  return async (folder) => {
    const { running, refusal = '' } = await openLeft(folder)
    await running?.stop()
    if (running) return 'it opens'
    return refusal.includes(name) && !refusal.startsWith('a bug')
      ? undefined
      : `it is not said what is wrong: ${refusal}`
  }
}

/** It is opened with a warning that names the image, if its length tells, and named by a repair. */
function imageSaid(sha256: string, isAsLong: boolean): BesideFault['judge'] {
  return async (folder) => {
    const { running, refusal, warnings } = await openLeft(folder, { IAM: 'off' })
    if (!running) return `it does not open: ${refusal}`
    try {
      const api = new ProofApi(`http://127.0.0.1:${running.port}`, '', folder)
      const { text } = await api.ask('GET', tailReleases)
      if (!text.includes(sha256)) return `no release names the image: ${text}`
      const isSaid = () => warnings.some((line) => line.includes(sha256))
      for (let waited = 0; !isSaid() && !isAsLong && waited < warnedMsMax; waited += 50)
        await new Promise((resolve) => setTimeout(resolve, 50))
      if (isSaid() === isAsLong)
        return isAsLong ? 'an image as long as it was is warned of' : 'nobody is warned of the image'
    } finally {
      await running.stop()
    }
    const { images } = await repairFolder({ folder, name: 'proof', isForced: false })
    const isNamed = images.some((image) => image.sha256 === sha256 && image.releases.length > 0)
    return isNamed ? undefined : 'repair does not name the image'
  }
}
