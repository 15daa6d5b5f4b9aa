import { testShare } from '#test/simulation/share'

testShare(1)
