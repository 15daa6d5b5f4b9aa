import { parseArgs } from 'node:util'
import { type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import { proveTails } from '#bench/proof/tails'

const help = `Usage: npm run proof -- tails [options]

Cuts off and turns over bytes at the end of every file of a database, and inside of its tables, takes files away, and opens
what is left: it must say which file is damaged, or open without a gap, say what it leaves out, and hold all that was
acknowledged before that; repair must make a database of it again.

  --faults N            cuts, and as many turned bits, of each file (12)
  --seed N              of chance (the clock)
  --life-ms N           how long each of three lives of the server before it lasts (1500)`

export const tailsProof: Proof = {
  about: 'every file of the database damaged, opened and repaired',
  help,
  async run(args, print) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...seedOption,
        faults: { type: 'string', default: '12' },
        'life-ms': { type: 'string', default: '1500' },
      },
    })
    const seed = seedFrom(values.seed)
    const faultsEach = positive('faults', values.faults)
    print(`seed ${seed}, ${faultsEach} faults of each kind and file`)
    const report = await proveTails({ seed, faultsEach, lifeMs: positive('life-ms', values['life-ms']), print })
    const { seconds, problems, ...figures } = report
    return {
      seed,
      seconds,
      said: [
        `${figures.faults} faults in ${figures.files} files: ${figures.refused} said at the start, which did not open; ` +
          `${figures.warned} opened without a gap and said what they left out; ${figures.unharmed} did no harm; ` +
          `${figures.cutBetween} opened without a gap, cut off between two writes; ${figures.foundWhole} inside of tables, found by the doctor`,
        `${figures.repaired} repaired: opened again, and nobody resumes over what is lost`,
        `${figures.beside} faults beside the database: of identity.key, of images, and of all of the database`,
      ],
      problems,
    }
  },
}
