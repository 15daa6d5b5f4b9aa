import { testShare } from '#test/simulation/seed-share'

testShare(2)
